// Package redlock keeps locks in several Redis servers that know nothing of each
// other, the nodes. A name belongs to whoever a majority of them names, so
// that a minority may be down, slow or empty.
//
// The algorithm is Redlock (https://redis.io/docs/latest/develop/use/patterns/distributed-locks/)
// with three additions. The fence is a ballot: the sender proposes it, a node
// accepts it only above every one that it has accepted before, and any two
// majorities share a node. A renewal sets the hold again on nodes that lost it. A
// node that restarted, and may have forgotten, does not count for new grants until
// the longest lease is over.
//
// On each node a lock looks as in package redis, without the queue: N servers have
// no common order, so nobody is granted a name by a message. A contender leaves a
// mark instead, and is told when it makes sense to ask again.
package redlock

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockgw/lockgw/backend"
)

// Config of a Backend.
type Config struct {
	URL       string        // redlock://h1,h2,h3
	KeyPrefix string        // before every lock name
	FenceTTL  time.Duration // how long a fence counter outlives its last use; 0: for ever
	Node      backend.Node
	Log       *slog.Logger // nil: none
}

// Backend is the Redis servers as one node sees them.
type Backend struct {
	cfg     Config
	maxTTL  time.Duration
	nodes   []*node
	hint    func(backend.Hint)
	cancel  context.CancelFunc
	founder founder
	// listeners are of the nodes; they do not change after Listen.
	listeners []*listener

	mu      sync.Mutex // guards the fields below
	closed  bool
	wg      sync.WaitGroup // requests on their way, and listeners
	holds   map[place]*hold
	waits   map[place]backend.Fence // newest release that a contender which waits was told of
	foreign map[place]bool          // that one waits for a holder outside lockgw
	trials  map[place]trial
	// maxTrials is how many there may be until old ones are looked for.
	maxTrials int
}

// place is a contender of this node for a name.
type place struct{ name, slot string }

var _ backend.Backend = (*Backend)(nil)

// Open makes the Backend of a node. It does not wait for the servers to be there.
// Errors are of the configuration.
func Open(_ context.Context, cfg Config) (*Backend, error) {
	a, err := parseAddress(cfg.URL)
	if err != nil {
		return nil, err
	}
	if err := backend.CheckKeyPrefix(cfg.KeyPrefix); err != nil {
		return nil, fmt.Errorf("backend.key_prefix: %w", err)
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	goredis.SetLogger(clientLog{cfg.Log}) // for the whole process; it has one gateway
	b := &Backend{
		cfg: cfg, maxTTL: a.maxTTL, cancel: func() {},
		holds: map[place]*hold{}, waits: map[place]backend.Fence{}, foreign: map[place]bool{}, trials: map[place]trial{}, maxTrials: minTrials,
	}
	for i := range a.hosts {
		b.nodes = append(b.nodes, newNode(a.options(i), a.maxTTL, b.found, cfg.Log))
	}
	return b, nil
}

// CheckURL says what is wrong with a redlock:// URL.
func CheckURL(url string) error {
	_, err := parseAddress(url)
	return err
}

// Info implements backend.Backend.
func (b *Backend) Info() backend.Info {
	return backend.Info{Type: "redlock", Fencing: true, Push: true, Shared: true, Modes: true, MaxTTL: b.maxTTL}
}

// quorum is a majority of the nodes.
func (b *Backend) quorum() int { return len(b.nodes)/2 + 1 }

// Ping implements backend.Backend: a majority answers, counts for new grants and
// sends messages.
func (b *Backend) Ping(ctx context.Context) error {
	var errs []error
	good := 0
	b.each(ctx, func(ctx context.Context, n *node) vote { return vote{n: n, err: n.ping(ctx)} }, func(v vote) bool {
		if errs = append(errs, v.err); v.err == nil {
			good++
		}
		return good >= b.quorum()
	})
	if good < b.quorum() {
		return fmt.Errorf("redlock: %d of %d nodes are ready, %d are needed: %s", good, len(b.nodes), b.quorum(), words(errs))
	}
	return nil
}

// Listen implements backend.Backend.
func (b *Backend) Listen(f func(backend.Hint)) {
	b.hint = f
	ctx, cancel := context.WithCancel(context.Background())
	b.cancel = cancel
	for _, n := range b.nodes {
		l := &listener{
			node: n, channel: fmt.Sprintf("lockgw:node:%s:%d", b.cfg.Node.ID, b.cfg.Node.Incarnation),
			message: b.heard, resync: b.resync,
			watched: b.watched, freed: b.freed, changed: make(chan struct{}, 1),
		}
		b.listeners = append(b.listeners, l)
		b.start(func() { l.run(ctx) })
	}
}

// start runs f, for which Close waits; not if Close has begun.
func (b *Backend) start(f func()) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	b.wg.Go(f)
	return true
}

// Close implements backend.Backend.
func (b *Backend) Close() error {
	b.cancel()
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.wg.Wait() // a request takes conn.IOTimeout or so
	var errs []error
	for _, n := range b.nodes {
		errs = append(errs, n.close())
	}
	return errors.Join(errs...)
}
