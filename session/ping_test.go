package session_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/session"
)

// hanging is a store that answers a Ping when answer is closed, or never.
type hanging struct {
	ledger.Table
	answer        chan struct{}
	pinged, under atomic.Int32
	most          atomic.Int32 // under way at once
}

func (h *hanging) Ping(ctx context.Context) error {
	h.pinged.Add(1)
	h.most.Store(max(h.most.Load(), h.under.Add(1)))
	defer h.under.Add(-1)
	select {
	case <-h.answer:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func pingable(t *testing.T) (*session.Manager, *hanging) {
	t.Helper()
	var h *hanging
	c := newCluster(t, 1, session.Config{}, func(_ int, b ledger.Table) ledger.Table {
		h = &hanging{Table: b, answer: make(chan struct{})}
		return h
	})
	return c.nodes[0], h
}

// However many ask how a store is that hangs, it is asked once at a time: they must not take
// the connections from those who lock.
func TestPingsAreShared(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m, h := pingable(t)
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() {
				for range 3 {
					began := time.Now()
					err := m.Ping(t.Context())
					if took := time.Since(began); err == nil || took > m.Config().Timeout {
						t.Errorf("%v after %v, want an error within %v", err, took, m.Config().Timeout)
					}
				}
			})
			time.Sleep(time.Millisecond)
		}
		wg.Wait()
		if most, n := h.most.Load(), h.pinged.Load(); most != 1 || n > 4 {
			t.Errorf("the store was asked %d times, and %d at once", n, most)
		}
		close(h.answer)
		if err := m.Ping(t.Context()); err != nil {
			t.Errorf("of a store that is back: %v", err)
		}
	})
}

// One who asks and hangs up does not decide what the others are told.
func TestPingGoesOnWithoutItsCaller(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m, h := pingable(t)
		ctx, hangUp := context.WithCancel(t.Context())
		go func() { _ = m.Ping(ctx) }()
		synctest.Wait()
		other := make(chan error, 1)
		go func() { other <- m.Ping(t.Context()) }()
		gone, leave := context.WithCancel(t.Context())
		left := make(chan error, 1)
		go func() { left <- m.Ping(gone) }()
		synctest.Wait()
		hangUp()
		leave()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("who has hung up is told %v", err)
		}
		close(h.answer)
		if err := <-other; err != nil || h.pinged.Load() != 1 {
			t.Errorf("the other one is told %v by %d pings", err, h.pinged.Load())
		}
	})
}
