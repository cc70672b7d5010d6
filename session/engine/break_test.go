package engine_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/session/contender"
	"github.com/lockgw/lockgw/session/engine"
)

// whoever has the hold.
func whoever(*engine.Answer) error { return nil }

// breaks has g break a hold, and wants that error. Who holds it may be silent on a busy
// machine: then the fence is compared with what the store shows, so it is asked before.
func (g *gateway) breaks(t *testing.T, name string, fence backend.Fence, delay time.Duration, want error) {
	t.Helper()
	g.asks(t, name)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := g.Break(ctx, name, fence, whoever, delay); !errors.Is(err, want) {
		t.Fatalf("break of %s, fence %d: %v, want %v", name, fence, err, want)
	}
}

// lost waits until c, which was told that it holds, is told why that is over.
func (g *gateway) lost(t *testing.T, c *contender.Caller, why contender.Reason) {
	t.Helper()
	select {
	case granted, open := <-g.wake(c):
		g.mu.Lock()
		defer g.mu.Unlock()
		if granted || open || g.ended[c] != why {
			t.Errorf("%s: granted %v, %v, want %v", c.Owner, granted, g.ended[c], why)
		}
	case <-time.After(time.Minute):
		t.Fatalf("%s is not told that it has lost", c.Owner)
	}
}

// A hold of another node is broken by the fence that it has now, and no other one.
func TestBreak(t *testing.T) {
	overStores(t, func(t *testing.T, s *store) {
		a, _ := s.gateway(t, "a")
		b, _ := s.gateway(t, "b")
		b.breaks(t, "n", 7, 0, backend.ErrNotHeld)
		first, second, next := long("u:1", 0), long("u:2", 0), long("v:1", 0)
		a.hold(t, "n", first)
		a.enter(t, "n", second)
		a.release(t, "n", first)
		a.granted(t, "n", second) // without a word to the store
		b.enter(t, "n", next)
		b.until(t, "n", func(r *ledger.Record) bool { return r.Entry("b") != nil })
		for _, wrong := range []backend.Fence{0, first.Fence, second.Fence + 1} {
			b.breaks(t, "n", wrong, 0, backend.ErrFence)
		}
		b.breaks(t, "n", second.Fence, 0, nil)
		a.lost(t, second, contender.ByForce)
		b.granted(t, "n", next)
		if next.Fence <= second.Fence {
			t.Errorf("fence %d after %d", next.Fence, second.Fence)
		}
		b.breaks(t, "n", next.Fence, 0, backend.ErrFence) // it is one of its own
		b.release(t, "n", next)
		b.until(t, "n", func(r *ledger.Record) bool { return len(r.Holds) == 0 })
		b.breaks(t, "n", next.Fence, 0, backend.ErrNotHeld)
	})
}

// Nobody gets a name that was broken before the delay of the gateway that held it is over.
func TestBreakBars(t *testing.T) {
	overStores(t, func(t *testing.T, s *store) {
		bars := config("a")
		bars.Delay = time.Second
		a, _ := s.gatewayOf(t, bars)
		b, _ := s.gateway(t, "b")
		held, next := long("u:1", 0), long("v:1", 0)
		a.hold(t, "n", held)
		b.breaks(t, "n", held.Fence, time.Second, nil)
		barred := time.Now()
		a.lost(t, held, contender.ByForce)
		b.enter(t, "n", next)
		b.granted(t, "n", next)
		if d := time.Since(barred); d < 900*time.Millisecond {
			t.Errorf("granted after %v", d)
		}
	})
}

// The hold of a node that does not answer is broken by what it wrote last, or if it wrote
// nothing of its callers by the fence that people are shown.
func TestBreakOfSilent(t *testing.T) {
	overStores(t, func(t *testing.T, s *store) {
		for name, describes := range map[string]bool{"told": true, "untold": false} {
			a, at := s.gateway(t, "a"+name)
			b, _ := s.gateway(t, "b"+name)
			first, second := long("u:1", 0), long("u:2", 0)
			a.hold(t, name, first)
			if describes {
				a.Find(name).SetEntries(first, 2).Do(t.Context())
			}
			a.enter(t, name, second)
			a.release(t, name, first)
			a.granted(t, name, second)
			a.Abandon()
			if err := at.Close(); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if err := b.Break(ctx, name, second.Fence, whoever, 0); !errors.Is(err, backend.ErrFence) {
				t.Errorf("%s: a fence that nobody was shown: %v", name, err)
			}
			if err := b.Break(ctx, name, first.Fence, whoever, 0); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			next := long("v:1", 0)
			b.hold(t, name, next)
			if next.Fence <= second.Fence {
				t.Errorf("%s: fence %d after %d", name, next.Fence, second.Fence)
			}
		}
	})
}

// Break tries again as long as others change the record, and ends when its time is over.
func TestBreakRaces(t *testing.T) {
	overStores(t, func(t *testing.T, s *store) {
		a, _ := s.gateway(t, "a")
		b, bt := s.gateway(t, "b")
		c, _ := s.gateway(t, "c")
		held := long("u:1", 0)
		a.hold(t, "n", held)
		swaps, most := 0, 3
		bt.swapping = func() {
			if swaps++; swaps <= most {
				changed(t, c.table, "n")
			}
		}
		b.breaks(t, "n", held.Fence, 0, nil)
		a.lost(t, held, contender.ByForce)
		if swaps != most+1 {
			t.Errorf("%d writes, want %d", swaps, most+1)
		}
		a.hold(t, "m", held)
		ctx, cancel := context.WithCancel(t.Context())
		bt.swapping = func() {
			changed(t, c.table, "m")
			cancel()
		}
		b.asks(t, "m")
		if err := b.Break(ctx, "m", held.Fence, whoever, 0); !errors.Is(err, backend.ErrUnavailable) {
			t.Errorf("always changed: %v", err)
		}
	})
}

// changed has one who is not there any more wait, or wait no more.
func changed(t *testing.T, table ledger.Table, name string) {
	t.Helper()
	r, err := table.Look(context.WithoutCancel(t.Context()), name)
	if err != nil {
		t.Error(err)
		return
	}
	op := ledger.Op{Node: "gone", Want: 1, Turns: 1}
	if r.Record.Entry("gone") != nil {
		op = ledger.Op{Verb: ledger.Leave, Node: "gone", Turns: 1}
	}
	next, effects := ledger.Step(r.Record, op, 0)
	w, err := table.Swap(context.WithoutCancel(t.Context()), ledger.Swap{Name: name, Base: r.Version, Record: next, Effects: effects})
	if err != nil || !w.Written {
		t.Errorf("%+v, %v", w, err)
	}
}

// The lock of a program outside lockgw is broken by the newest fence of the name, and what is
// no lock is left alone.
func TestBreakForeign(t *testing.T) {
	overStores(t, func(t *testing.T, s *store) {
		if s.redis == nil {
			return // nobody else can lock there
		}
		b, _ := s.gateway(t, "b")
		rdb := s.redis.Client()
		last := long("u:1", 0)
		b.hold(t, "n", last)
		b.release(t, "n", last)
		b.until(t, "n", func(r *ledger.Record) bool { return len(r.Holds) == 0 })
		rdb.Set(t.Context(), "n", "token", time.Minute)
		next := long("v:1", 0)
		b.enter(t, "n", next)
		b.until(t, "n", func(r *ledger.Record) bool { return r.Entry("b") != nil })
		top := b.asks(t, "n").Reply.Record.Top
		b.breaks(t, "n", top+1, 0, backend.ErrFence)
		b.breaks(t, "n", top, 0, nil)
		b.granted(t, "n", next)
		if next.Fence <= top {
			t.Errorf("fence %d after %d", next.Fence, top)
		}
		rdb.RPush(t.Context(), "list", "data")
		b.breaks(t, "list", 0, 0, backend.ErrConflict)
		if rdb.LLen(t.Context(), "list").Val() != 1 {
			t.Error("the list is gone")
		}
		rdb.Set(t.Context(), "new", "token", time.Minute)
		b.breaks(t, "new", 0, 0, nil)
		if rdb.Exists(t.Context(), "new").Val() != 0 {
			t.Error("the lock is there still")
		}
	})
}
