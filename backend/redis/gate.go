package redis

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockgw/lockgw/backend"
)

const (
	checkTimeout = 2 * time.Second
	checkSoon    = 10 * time.Second // while no new lock is granted
	checkLater   = time.Minute      // CONFIG SET tells nobody
)

// Gate refuses new locks while the Redis server may drop them, and until it has
// said for the first time whether it may. Everything else passes: what is held is
// renewed and released, and who stands in a queue already is served.
//
// It asks again after each reconnect, every 10 s while it is closed, and once a
// minute otherwise; until that answer the one before counts.
type Gate struct {
	backend.Backend
	ask    func(context.Context) (Eviction, error)
	log    *slog.Logger
	closed atomic.Pointer[error] // why; nil: open
	again  chan struct{}         // cap 1: a connection is new

	cancel context.CancelFunc
	wg     sync.WaitGroup

	// Of Check, and then of the goroutine that Listen starts.
	answered bool
	eviction Eviction
}

var _ backend.Backend = (*Gate)(nil)

// NewGate gates b, whose server answers ask as Backend.Eviction does. It asks
// nothing before Check or Listen.
func NewGate(b backend.Backend, ask func(context.Context) (Eviction, error), log *slog.Logger) *Gate {
	g := &Gate{Backend: b, ask: ask, log: log, again: make(chan struct{}, 1), cancel: func() {}}
	g.close(fmt.Errorf("%w: this Redis has not said yet whether it may drop locks", backend.ErrRefused))
	return g
}

// Check asks the server, at most until ctx ends, and says why it may drop locks. It
// is nil too if there is no answer. Call it before Listen or not at all.
func (g *Gate) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	e, err := g.ask(ctx)
	if err != nil {
		g.unanswered(err)
		return nil
	}
	g.answered, g.eviction = true, e
	if err := e.Err(); err != nil {
		g.close(fmt.Errorf("%w: %w; held locks are still renewed and released", backend.ErrRefused, err))
		return err
	}
	g.closed.Store(nil)
	return nil
}

// unanswered: what the server has said last still counts, if it has said anything.
func (g *Gate) unanswered(err error) {
	if g.answered {
		return
	}
	if !errors.Is(err, backend.ErrRefused) { // the outcome of an acquire that is not sent is not unknown
		err = fmt.Errorf("%w: this Redis has not said yet whether it may drop locks: %s", backend.ErrRefused, err.Error())
	}
	g.close(err)
}

func (g *Gate) close(why error) { g.closed.Store(&why) }

// Acquire implements backend.Backend.
func (g *Gate) Acquire(ctx context.Context, r backend.Request) (backend.Answer, error) {
	// A repeat passes: what was granted already has to be found out, or it lies idle.
	if why := g.closed.Load(); why != nil && !r.Repeat {
		return backend.Answer{}, *why
	}
	return g.Backend.Acquire(ctx, r)
}

// Ping implements backend.Backend.
func (g *Gate) Ping(ctx context.Context) error {
	err := g.Backend.Ping(ctx)
	if err != nil && !errors.Is(err, backend.ErrPartly) {
		return err
	}
	if why := g.closed.Load(); why != nil {
		return *why
	}
	return err
}

// Listen implements backend.Backend.
func (g *Gate) Listen(f func(backend.Hint)) {
	ctx, cancel := context.WithCancel(context.Background())
	g.cancel = cancel
	g.wg.Go(func() { g.watch(ctx) })
	g.Backend.Listen(func(h backend.Hint) {
		if h.Kind == backend.HintResync {
			select {
			case g.again <- struct{}{}:
			default:
			}
		}
		f(h)
	})
}

// Close implements backend.Backend.
func (g *Gate) Close() error {
	g.cancel()
	g.wg.Wait()
	return g.Backend.Close()
}

// watch asks again and again, and logs what is new.
func (g *Gate) watch(ctx context.Context) {
	var told Eviction
	for first := true; ; {
		if g.answered && (first || g.eviction != told) {
			g.report(told)
			first, told = false, g.eviction
		}
		pause := checkLater
		if g.closed.Load() != nil {
			pause = checkSoon
		}
		select {
		case <-ctx.Done():
			return
		case <-g.again:
		case <-time.After(pause):
		}
		_ = g.Check(ctx) // report tells it
	}
}

func (g *Gate) report(before Eviction) {
	switch err := g.eviction.Err(); {
	case err != nil:
		g.log.Error("no new locks are granted; held ones are renewed and released", "err", err)
	case g.eviction.Policy == "":
		g.log.Warn("Redis does not say whether it may drop locks when its memory is full; allow it INFO, or see that its maxmemory-policy is noeviction")
	case before.Err() != nil:
		g.log.Info("Redis does not drop locks any more; that keeps no new ones from being granted")
	}
}
