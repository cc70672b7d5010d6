package sqltable

import (
	"context"
	"log/slog"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

// Config of a Table.
type Config struct {
	URL string // of the database
	// Password says, for each connection, which one belongs to the user of URL now; nil: that in URL.
	Password func() string
	// ListenURL is of the same PostgreSQL, for messages: without a pooler in between. "": URL,
	// as it always is of other databases.
	ListenURL string
	KeyPrefix string // before every lock name
	Node      backend.Node
	// Guard is GuardNone or GuardQuarantine; "": GuardNone. A quarantine lasts for Lease,
	// which is the longest that a lease can last after its node has lost sight of the
	// database. GuardFile keeps what is known of servers; "": nowhere.
	Guard     string
	Lease     time.Duration
	GuardFile string
	Log       *slog.Logger // nil: none
}

// What Config.Guard may say about a server that may have forgotten grants.
const (
	// GuardNone does nothing about it.
	GuardNone = "none"
	// GuardQuarantine has such a server grant nothing new until every lease that it may
	// have forgotten is over. Who holds a name may have it written down again meanwhile.
	GuardQuarantine = "quarantine"
)

// Database is what a Table asks of its database. A raw name has the configured prefix. Errors
// are those of package backend.
type Database struct {
	Type    string // as it is configured, such as postgres
	Product string // for people, such as PostgreSQL
	Names   string // the table of the names, for people
	MaxNode int    // bytes of the id of a node

	// Layout is the statement that tells the version of the tables that are there. Newer than
	// Known, they are not touched. Missing: they are not there, which is why it has failed.
	Layout  string
	Known   int64
	Missing func(error) bool
	// Create makes the tables. No error: it may also be that others have, or are about to.
	Create func(context.Context) error
	// Ask looks at the run of the server, has judge say what is to be done, and does it.
	Ask func(ctx context.Context, judge func(Seen) Change) error

	// Scout tells to which server a new connection leads, as Seen does.
	Scout func(context.Context) (server string, err error)

	// Swap carries out s if the server is trusted under run, or that needs none. trusted: if it
	// was not written, that is not because of the server.
	Swap func(ctx context.Context, s ledger.Swap, run Run) (r ledger.Reply, trusted bool, err error)
	Look func(ctx context.Context, raw string) (ledger.Reply, error)
	// Renew renews those of rs that group names, each another name, and sets their errors to
	// nil; or returns why none was renewed. free: it leaves out rows that somebody has locked.
	Renew func(ctx context.Context, rs []ledger.Renewal, group []int, free bool, errs []error) error
	Send  func(ctx context.Context, ms []ledger.Addressed) error
	// List tells the rows of names in use, in their order: of those that begin with prefix and
	// come after one. Reply reads such a row behind its name.
	List  func(ctx context.Context, prefix, after string, limit int) (Rows, error)
	Reply func(raw string, r *Reader) (ledger.Reply, error)
	// Rows are those of one statement. That of Newest tells the newest fence of all names.
	Rows   func(ctx context.Context, sql string, args ...any) (Rows, error)
	Newest string

	// Listen has the node hear until that ends; listened: it could. Beat says that it listens.
	Listen func(context.Context) (listened bool, err error)
	Beat   func(context.Context) error
	// Sweep deletes rows that nobody has used for so long.
	Sweep func(ctx context.Context, idle time.Duration) error

	// Barred is why nothing new may be granted now, nor waited for, whatever the run; Wrong is why
	// messages do not arrive, or else what is amiss.
	Barred func() error
	Wrong  func() error
	// Rights are statements that change nothing, and need the rights that a lock which is taken and
	// given back does not: a sweep does, and a gateway that meets a run which is not trusted.
	Rights []string
	// Pools are those of the connections for requests.
	Pools []Connected
}

// Connected is a Pool.
type Connected interface {
	Reset()
	Close()
}
