package redis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/gate"
	"github.com/lockgw/lockgw/backend/ledger"
)

const (
	checkTimeout = 2 * time.Second
	checkSoon    = 10 * time.Second // while no new lock is granted
	checkLater   = time.Minute      // CONFIG SET tells nobody
)

// TableGate refuses new locks while the Redis server may drop them, and until it has
// said for the first time whether it may. Everything else passes; see package gate.
//
// It asks again after each reconnect, every 10 s while it is closed, and once a minute
// otherwise; until that answer the one before counts.
type TableGate struct {
	ledger.Table
	ask    func(context.Context) (Eviction, error)
	log    *slog.Logger
	closed atomic.Pointer[error] // why; nil: open
	again  chan struct{}         // cap 1: a connection is new

	cancel context.CancelFunc
	wg     sync.WaitGroup

	// Of Check, and then of the goroutine that Listen starts.
	answered bool
	said     Eviction
}

var _ ledger.Table = (*TableGate)(nil)

// NewTableGate gates t, whose server answers ask as Table.Eviction does. It asks nothing
// before Check or Listen.
func NewTableGate(t ledger.Table, ask func(context.Context) (Eviction, error), log *slog.Logger) *TableGate {
	g := &TableGate{ask: ask, log: log, again: make(chan struct{}, 1), cancel: func() {}}
	g.close(fmt.Errorf("%w: this Redis has not said yet whether it may drop locks", backend.ErrRefused))
	g.Table = gate.New(t, func(context.Context, string) (func(error), error) { return func(error) {}, g.refusal() })
	return g
}

// Check asks the server, at most until ctx ends, and says why it may drop locks. It
// is nil too if there is no answer. Call it before Listen or not at all.
func (g *TableGate) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	said, err := g.ask(ctx)
	if err != nil {
		g.unanswered(err)
		return nil
	}
	g.answered, g.said = true, said
	if err := said.Err(); err != nil {
		g.close(fmt.Errorf("%w: %w; held locks are still renewed and released", backend.ErrRefused, err))
		return err
	}
	g.closed.Store(nil)
	return nil
}

// unanswered: what the server has said last still counts, if it has said anything.
func (g *TableGate) unanswered(err error) {
	if g.answered {
		return
	}
	if !errors.Is(err, backend.ErrRefused) { // the outcome of a request that is not sent is not unknown
		err = fmt.Errorf("%w: this Redis has not said yet whether it may drop locks: %s", backend.ErrRefused, err.Error())
	}
	g.close(err)
}

func (g *TableGate) close(why error) { g.closed.Store(&why) }

// refusal is why no new lock is granted; nil: they are.
func (g *TableGate) refusal() error {
	if why := g.closed.Load(); why != nil {
		return *why
	}
	return nil
}

// Ping implements ledger.Table.
func (g *TableGate) Ping(ctx context.Context) error {
	err := g.Table.Ping(ctx)
	if err != nil && !errors.Is(err, backend.ErrPartly) {
		return err
	}
	return cmp.Or(g.refusal(), err)
}

// Listen implements ledger.Table.
func (g *TableGate) Listen(f func(ledger.Addressed)) {
	ctx, cancel := context.WithCancel(context.Background())
	g.cancel = cancel
	g.wg.Go(func() { g.watch(ctx) })
	g.Table.Listen(func(m ledger.Addressed) {
		if m.Kind == ledger.Resync {
			backend.Signal(g.again)
		}
		f(m)
	})
}

// Close implements ledger.Table.
func (g *TableGate) Close() error {
	g.cancel()
	g.wg.Wait()
	return g.Table.Close()
}

// watch asks again and again, and logs what is new.
func (g *TableGate) watch(ctx context.Context) {
	var told Eviction
	for first := true; ; {
		if g.answered && (first || g.said != told) {
			g.report(told)
			first, told = false, g.said
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

func (g *TableGate) report(before Eviction) {
	switch err := g.said.Err(); {
	case err != nil:
		g.log.Error("no new locks are granted; held ones are renewed and released", "err", err)
	case g.said.Policy == "":
		g.log.Warn("Redis does not say whether it may drop locks when its memory is full; allow it INFO, or see that its maxmemory-policy is noeviction")
	case before.Err() != nil:
		g.log.Info("Redis does not drop locks any more; that keeps no new ones from being granted")
	}
}
