// Package redis keeps locks in Redis, be it one server, the one that Sentinels name
// or a cluster, in Redisson's layout: a hash owner -> entries with an expiry, a channel on which a release is published and
// a fence counter. Beside these it keeps, for the name's queue and for the hold
// behind the hash, a few keys of its own; head.lua lists them.
//
// Each method of Backend is one Lua script, so one step for Redis. All scripts
// may be repeated, and check everything before they write. Time is Redis' own.
//
// In a cluster all keys of a lock share its slot. Messages to a node do not: a script
// publishes them, PUBLISH counts who listens on its own server, and so a node listens
// on every master. A sharded channel for each name would need a subscription before
// each wait, and a count of subscriptions that grows with the names.
//
// More than 25 files stand here, because two ways to keep a lock do: the scripts by which
// Backend decides (*.lua, message, reply, guard*), and the Table, which keeps the records
// of package ledger (table*). Both use the same servers, hub and pipeline.
package redis

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/redis/conn"
)

// Config of a Backend.
type Config struct {
	URL       string        // redis://, rediss://, redis+unix://, redis+sentinel:// or redis+cluster://
	KeyPrefix string        // before every lock name; Redisson's NameMapper
	FenceTTL  time.Duration // how long a fence counter outlives its last use; 0: for ever
	Publish   string        // how Redisson is told: auto, publish, spublish or both; "": auto
	Node      backend.Node
	// Guard is one of GuardNone, GuardQuarantine and GuardWait; "": GuardNone. A
	// quarantine lasts for Lease, which is the longest that a lease can last after its
	// node has lost sight of Redis. GuardFile keeps what is known of servers.
	Guard     string
	Lease     time.Duration
	GuardFile string
	Log       *slog.Logger // nil: none
}

// Window is how long a provisional hold lasts.
const Window = time.Second

// Backend is Redis as one node sees it.
type Backend struct {
	*site
	requests      *router
	renewRequests *router
	hint          func(backend.Hint)

	mu      sync.Mutex       // guards the field below
	foreign map[place]string // the channel on which each will hear of a release
}

// place is a contender of this node for a name.
type place struct{ name, slot string }

var _ backend.Backend = (*Backend)(nil)

// Open makes the Backend of a node. It does not wait for Redis to be there.
// Errors are of the configuration.
func Open(_ context.Context, cfg Config) (*Backend, error) {
	s, err := openSite(cfg, fmt.Sprintf("lockgw:node:%s:%d", cfg.Node.ID, cfg.Node.Incarnation))
	if err != nil {
		return nil, err
	}
	b := &Backend{site: s, foreign: map[place]string{}}
	b.requests, b.renewRequests = newRouter(b.servers), newRouter(b.renewals)
	return b, nil
}

// Info implements backend.Backend.
func (b *Backend) Info() backend.Info {
	return backend.Info{Type: "redis", Fencing: true, Queue: true, Push: true, Shared: true, Modes: true, Restores: b.cfg.Guard == GuardQuarantine}
}

// Close implements backend.Backend.
func (b *Backend) Close() error {
	b.hub.Close()
	b.requests.Close()
	b.renewRequests.Close()
	return b.disconnect()
}

// run runs one of the scripts about one name.
func (b *Backend) run(ctx context.Context, s *script, r backend.Request) (conn.Reply, error) {
	for {
		v, err := b.requests.eval(ctx, b.cfg.KeyPrefix+r.Name, s, b.message(r))
		if err != nil {
			return nil, err
		}
		a, err := conn.AsReply(v)
		if err != nil {
			return nil, err
		}
		if a.Text(0) != "strange" {
			return a, refused(a)
		}
		c, err := b.servers.of(ctx, b.cfg.KeyPrefix+r.Name)
		if err != nil {
			return nil, err
		}
		if err := b.meet(ctx, c, a.Text(1)); err != nil {
			return nil, err
		}
	}
}

// ask runs a script that may grant, and watches a holder outside lockgw.
func (b *Backend) ask(ctx context.Context, s *script, r backend.Request) (backend.Answer, error) {
	v, err := b.run(ctx, s, r)
	if err != nil {
		if s == cancelScript || !errors.Is(err, backend.ErrUnavailable) && !errors.Is(err, backend.ErrRefused) {
			b.watch(place{r.Name, r.Slot}, "") // it waits no more
		}
		return backend.Answer{}, err
	}
	a, err := answer(v)
	b.watch(place{r.Name, r.Slot}, b.announced(ctx, r.Name, a))
	if b.cfg.Guard == GuardWait && a.Granted && (a.Hold != r.Hold || s == confirmScript) { // else it was told long ago
		err = b.replicate(ctx, r, a)
	}
	return a, err
}

// watch listens on channel for the release of a holder outside lockgw, and on no
// other for that contender; "": on none.
func (b *Backend) watch(at place, channel string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	was := b.foreign[at]
	if was == channel {
		return
	}
	if was != "" {
		delete(b.foreign, at)
		b.hub.unwatch(was)
	}
	if channel != "" {
		b.foreign[at] = channel
		b.hub.watch(channel, func() { b.freed(at.name) })
	}
}

// freed wakes the contenders that wait for a holder outside lockgw.
func (b *Backend) freed(name string) {
	b.mu.Lock()
	var slots []string
	for at := range b.foreign {
		if at.name == name {
			slots = append(slots, at.slot)
		}
	}
	b.mu.Unlock()
	for _, s := range slots {
		b.hint(backend.Hint{Kind: backend.HintFree, Name: name, Slot: s})
	}
}

// Acquire implements backend.Backend.
func (b *Backend) Acquire(ctx context.Context, r backend.Request) (backend.Answer, error) {
	return b.ask(ctx, acquireScript, r)
}

// Confirm implements backend.Backend.
func (b *Backend) Confirm(ctx context.Context, r backend.Request) (backend.Answer, error) {
	return b.ask(ctx, confirmScript, r)
}

// Extend implements backend.Backend.
func (b *Backend) Extend(ctx context.Context, r backend.Request) (backend.Answer, error) {
	return b.ask(ctx, extendScript, r)
}

// Release implements backend.Backend.
func (b *Backend) Release(ctx context.Context, r backend.Request) (backend.Answer, error) {
	return b.ask(ctx, releaseScript, r)
}

// Cancel implements backend.Backend.
func (b *Backend) Cancel(ctx context.Context, r backend.Request) error {
	_, err := b.ask(ctx, cancelScript, r)
	return err
}

// Reclaim implements backend.Backend.
func (b *Backend) Reclaim(ctx context.Context, r backend.Request) (backend.Answer, error) {
	return b.ask(ctx, reclaimScript, r)
}

// Break implements backend.Backend.
func (b *Backend) Break(ctx context.Context, r backend.Request) (backend.Answer, error) {
	r.Owner = backend.Owner(r.Seen)
	return b.ask(ctx, breakScript, r)
}

// Promote implements backend.Backend.
func (b *Backend) Promote(ctx context.Context, name string) (backend.Answer, error) {
	v, err := b.run(ctx, promoteScript, backend.Request{Name: name})
	if err != nil {
		return backend.Answer{}, err
	}
	return answer(v)
}

// Describe implements backend.Backend.
func (b *Backend) Describe(ctx context.Context, r backend.Request) error {
	_, err := b.run(ctx, describeScript, r)
	return err
}

// Listen implements backend.Backend.
func (b *Backend) Listen(f func(backend.Hint)) {
	b.hint = f
	b.hub.start(func(payload string) {
		if h, ok := parseHint(payload); ok {
			f(h)
		}
	}, func() {
		b.lookAtServers(true)
		f(backend.Hint{Kind: backend.HintResync})
	})
}
