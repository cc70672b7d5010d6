package session_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/session"
)

// panicky is a store with a defect, which shows once.
type panicky struct {
	ledger.Table
	sound bool
}

func (p *panicky) Swap(ctx context.Context, s ledger.Swap) (ledger.Reply, error) {
	if !p.sound {
		p.sound = true
		panic("a defect of the store")
	}
	return p.Table.Swap(ctx, s)
}

// survive runs f, as a front does that outlives a panic of one request.
func survive(t *testing.T, f func()) {
	t.Helper()
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	f()
}

// A request that panics under a key is answered for those who repeat it: it neither
// blocks them for ever nor is it done a second time.
func TestPanicUnderAKey(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1, session.Config{}, func(_ int, b ledger.Table) ledger.Table { return &panicky{Table: b} })
		s := c.open(0)
		a := session.Acquire{Key: "k"}
		survive(t, func() { _, _ = s.Acquire(t.Context(), "x", a) })
		repeated := make(chan error, 1)
		go func() {
			_, err := s.Acquire(context.Background(), "x", a)
			repeated <- err
		}()
		select {
		case err := <-repeated:
			wantCode(t, err, session.CodeInternal)
		case <-time.After(time.Hour):
			t.Fatal("the repeat waits for a request that is over")
		}
		mustAcquire(t, s, "x", session.Acquire{Key: "another"})
		mustRelease(t, s, "x")
		synctest.Wait()
		mustAcquire(t, c.open(0), "x", session.Acquire{}) // entered once
	})
}

// Without a key, too, the next request of the same owner goes its way.
func TestPanicWithoutAKey(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1, session.Config{}, func(_ int, b ledger.Table) ledger.Table { return &panicky{Table: b} })
		s := c.open(0)
		survive(t, func() { _, _ = s.Acquire(t.Context(), "x", session.Acquire{}) })
		mustAcquire(t, s, "x", session.Acquire{Wait: time.Minute})
	})
}

// Who panics in the queue leaves it: the lock is not given to nobody and renewed.
func TestPanicInTheQueue(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1, session.Config{}, nil)
		holder, waiter := c.open(0), c.open(0)
		mustAcquire(t, holder, "x", session.Acquire{})
		survive(t, func() {
			_, _ = waiter.Acquire(t.Context(), "x", session.Acquire{
				Wait: time.Minute, OnQueued: func(int, *session.Holder) { panic("a defect of a front") },
			})
		})
		mustRelease(t, holder, "x")
		mustAcquire(t, c.open(0), "x", session.Acquire{Wait: time.Second})
	})
}
