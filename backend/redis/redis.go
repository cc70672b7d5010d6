// Package redis keeps locks in Redis, be it one server, the one that Sentinels name
// or a cluster, in Redisson's layout: a hash owner -> entries with an expiry, a channel on
// which a release is published and a fence counter. Beside these it keeps, for each name, a
// record of package ledger, which says who holds the name and who waits; record.lua lists
// the keys.
//
// Each write of a record is one Lua script, so one step for Redis. All scripts
// may be repeated, and check everything before they write. Time is Redis' own.
//
// In a cluster all keys of a lock share its slot. Messages to a node do not: a script
// publishes them, PUBLISH counts who listens on its own server, and so a node listens
// on every master. A sharded channel for each name would need a subscription before
// each wait, and a count of subscriptions that grows with the names.
//
// Which servers there are, and what is heard from them, is known to package servers; how
// requests travel, to package requests; addresses and replies, to package conn. What is
// here is the Table, and whom it trusts (guard*, table_trust).
package redis

import (
	"context"
	"log/slog"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/redis/conn"
)

// Config of a Table.
type Config struct {
	URL string // redis://, rediss://, redis+unix://, redis+sentinel:// or redis+cluster://
	// Password says, for each connection, which one belongs to the user of URL now; nil: that in URL.
	Password  func() string
	KeyPrefix string        // before every lock name; Redisson's NameMapper
	FenceTTL  time.Duration // how long a fence counter outlives its last use; 0: none is made
	Publish   string        // how Redisson is told: auto, publish, spublish or both; "": auto
	Node      backend.Node
	// Guard is GuardNone or GuardQuarantine; "": GuardNone. A quarantine lasts for Lease,
	// which is the longest that a lease can last after its node has lost sight of Redis. After
	// as long, or a minute if that is less, who waits for the lock of another program that has
	// no end looks again; 0: 30 s. GuardFile keeps what is known of servers.
	Guard     string
	Lease     time.Duration
	GuardFile string
	// Unused says whether the other servers of a store of which this one is a part are
	// unused as well: only then is one that is empty trusted at once. nil: it is alone.
	Unused func(context.Context) bool
	// Voter: the server is one of several that vote, and takes no part in anything before it
	// is trusted, not even in what gives back.
	Voter bool
	Log   *slog.Logger // nil: none
}

// CheckURL says what Open would not understand of an address, without a look at the
// files that it names. An error never contains the password.
func CheckURL(rawurl string) error { return conn.CheckURL(rawurl) }
