package redlock

import (
	"cmp"
	_ "embed"
	"strings"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/redis/conn"
)

//go:embed head.lua
var head string

//go:embed shares.lua
var sharesLua string

//go:embed common.lua
var commonLua string

var common = head + "\n" + sharesLua + "\n" + commonLua

//go:embed acquire.lua
var acquireLua string

//go:embed extend.lua
var extendLua string

//go:embed reclaim.lua
var reclaimLua string

//go:embed release.lua
var releaseLua string

//go:embed cancel.lua
var cancelLua string

//go:embed break.lua
var breakLua string

//go:embed describe.lua
var describeLua string

//go:embed fill.lua
var fillLua string

//go:embed renew.lua
var renewLua string

//go:embed renew_shares.lua
var renewSharesLua string

//go:embed inspect.lua
var inspectLua string

// A full Redis refuses new grants, and nothing else.
var (
	acquireScript  = newScript("", common, acquireLua)
	extendScript   = newScript("flags=allow-oom", common, extendLua)
	reclaimScript  = newScript("flags=allow-oom", common, reclaimLua)
	releaseScript  = newScript("flags=allow-oom", common, releaseLua)
	cancelScript   = newScript("flags=allow-oom", common, cancelLua)
	breakScript    = newScript("flags=allow-oom", conn.StrangerLua, common, breakLua)
	describeScript = newScript("flags=allow-oom", common, describeLua)
	fillScript     = newScript("flags=allow-oom", common, fillLua)
	renewScript    = newScript("flags=allow-oom", renewLua)
	renewShares    = newScript("flags=allow-oom", renewSharesLua)
	inspectScript  = newScript("flags=no-writes", conn.StrangerLua, inspectLua)
)

// newScript needs Redis 7, which reads the first line.
func newScript(flags string, parts ...string) *goredis.Script {
	return goredis.NewScript(strings.TrimSpace("#!lua "+flags) + "\n" + strings.Join(parts, "\n"))
}

// message is what a script is told.
type message struct {
	keys []string
	args []any
}

// order is a Request with what is said to the nodes beyond it.
type order struct {
	backend.Request
	ballot backend.Fence // or the newest block of a hold
	known  backend.Fence // newest fence that is known to be the sender's own
	force  bool
	permit string // which one of a semaphore
}

// message of o to the scripts about one name; see head.lua.
func (b *Backend) message(o order) message {
	k, me := keysOf(b.cfg.KeyPrefix+o.Name), b.contender(o.Slot)
	return message{
		keys: []string{k.lock, k.state, k.waits, k.counter, k.last, k.floor + me, k.floor + b.cfg.Node.ID, k.shares, k.ends},
		args: []any{
			me, b.cfg.Node.Incarnation, o.Seq, k.channel, b.cfg.FenceTTL.Milliseconds(), o.Name,
			uint64(o.Hold), uint64(o.ballot), max(o.Turns, 1), uint64(o.known), o.Attempt, string(o.Owner),
			max(o.Count, 1), o.TTL.Milliseconds(), o.Queue, o.Waiters, uint64(o.Turn), o.Delay.Milliseconds(), o.Record,
			o.force, int(o.Mode), cmp.Or(o.permit, "-"),
		},
	}
}

// contender is this node, or one of its places.
func (b *Backend) contender(slot string) string {
	if slot == "" {
		return b.cfg.Node.ID
	}
	return b.cfg.Node.ID + "." + slot
}

// reply of a script: its first element says what the others are.
type reply = conn.Reply
