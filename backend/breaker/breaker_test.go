package breaker_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/breaker"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/memory"
)

var (
	errGone    = fmt.Errorf("%w: connection refused", backend.ErrUnavailable)
	errDefect  = errors.New("ERR in a script")
	errRefused = fmt.Errorf("%w: out of memory", backend.ErrRefused)
)

// silent does not answer before the end of ctx.
func silent(ctx context.Context) error {
	<-ctx.Done()
	return fmt.Errorf("%w: %w", backend.ErrUnavailable, ctx.Err())
}

func always(err error) func(context.Context) error {
	return func(context.Context) error { return err }
}

// faulty is a store that can fail.
type faulty struct {
	ledger.Table
	fail  func(ctx context.Context) error // nil: it works
	asked atomic.Int32
}

func (f *faulty) Swap(ctx context.Context, s ledger.Swap) (ledger.Reply, error) {
	f.asked.Add(1)
	if f.fail != nil {
		return ledger.Reply{}, f.fail(ctx)
	}
	return f.Table.Swap(ctx, s)
}

type gated struct {
	*faulty
	gate  ledger.Table
	names atomic.Uint64
}

func newGated(t *testing.T) *gated { return newLogging(t, slog.DiscardHandler) }

func newLogging(t *testing.T, h slog.Handler) *gated {
	f := &faulty{Table: memory.OpenTable(memory.NewRows(), "a")}
	g := &gated{faulty: f, gate: breaker.New(f, neverBack, slog.New(h))}
	t.Cleanup(func() { _ = g.gate.Close() })
	return g
}

// name is that of the newest lock that was asked for.
func (g *gated) name() string { return fmt.Sprint("n", g.names.Load()) }

// acquire asks for another lock each time: one that may have been granted is not gated.
func (g *gated) acquire(ctx context.Context) error {
	name := fmt.Sprint("n", g.names.Add(1))
	_, err := g.gate.Swap(ctx, swap(name, ledger.Reply{}, ledger.Op{Want: 1}))
	return err
}

// swap is what node a writes to have op done where seen is the record.
func swap(name string, seen ledger.Reply, op ledger.Op) ledger.Swap {
	op.Node, op.Turns, op.TTL = "a", 1, time.Minute
	next, effects := ledger.Step(seen.Record, op, 0)
	return ledger.Swap{Name: name, Base: seen.Version, Record: next, Effects: effects}
}

// times asks n times for a lock while the store fails in one way.
func (g *gated) times(t *testing.T, n int, fail func(context.Context) error) {
	t.Helper()
	g.fail = fail
	for range n {
		_ = g.acquire(t.Context())
	}
	g.fail = nil
}

// halves asks n times for a lock with an answer and n times without, in turns.
func (g *gated) halves(t *testing.T, n int) {
	t.Helper()
	for range n {
		g.times(t, 1, nil)
		g.times(t, 1, always(errGone))
	}
}

// open tells whether the next one is refused without asking the store.
func (g *gated) open(t *testing.T) bool {
	t.Helper()
	asked := g.asked.Load()
	err := g.acquire(t.Context())
	refused := g.asked.Load() == asked
	if refused && (!errors.Is(err, backend.ErrRefused) || errors.Is(err, backend.ErrUnavailable)) {
		t.Errorf("err = %v, want %v", err, backend.ErrRefused)
	}
	if refused && !strings.Contains(err.Error(), "("+backend.ErrUnavailable.Error()) {
		t.Errorf("err = %v, want in it why the store is left alone", err)
	}
	if !refused && err != nil {
		t.Errorf("the store was asked, but err = %v", err)
	}
	return refused
}

func TestWhatOpens(t *testing.T) {
	within := func(d time.Duration) func(*testing.T, *gated) {
		return func(t *testing.T, g *gated) {
			g.fail = silent
			for range 10 {
				ctx, cancel := context.WithTimeout(t.Context(), d)
				_ = g.acquire(ctx)
				cancel()
			}
			g.fail = nil
		}
	}
	for _, tt := range []struct {
		name string
		do   func(*testing.T, *gated)
		want bool
	}{
		{"four in a row", func(t *testing.T, g *gated) { g.times(t, 4, always(errGone)) }, false},
		{"five in a row", func(t *testing.T, g *gated) { g.times(t, 5, always(errGone)) }, true},
		{"five, with an answer between", func(t *testing.T, g *gated) {
			g.times(t, 4, always(errGone))
			g.times(t, 1, nil)
			g.times(t, 4, always(errGone))
		}, false},
		{"a few callers who wait long", within(2 * time.Second), true},
		{"the callers' deadlines are short", within(100 * time.Millisecond), false},
		{"the callers go", func(t *testing.T, g *gated) {
			g.fail = silent
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			var wg sync.WaitGroup
			for range 30 {
				wg.Go(func() { _ = g.acquire(ctx) })
			}
			wg.Wait()
			g.fail = nil
		}, false},
		{"half of 20", func(t *testing.T, g *gated) { g.halves(t, 10) }, true},
		{"half of 18", func(t *testing.T, g *gated) { g.halves(t, 9) }, false},
		{"a third of 60", func(t *testing.T, g *gated) {
			for range 20 {
				g.times(t, 2, nil)
				g.times(t, 1, always(errGone))
			}
		}, false},
		{"half of 36, within 4 s", func(t *testing.T, g *gated) {
			time.Sleep(8 * time.Second)
			g.halves(t, 9)
			time.Sleep(4 * time.Second) // the 10th second is between
			g.halves(t, 9)
		}, true},
		{"half of 40, spread over 40 s", func(t *testing.T, g *gated) {
			for range 20 {
				g.times(t, 1, nil)
				g.times(t, 1, always(errGone))
				time.Sleep(2 * time.Second)
			}
		}, false},
		{"refused", func(t *testing.T, g *gated) { g.times(t, 30, always(errRefused)) }, false},
		{"a script's error", func(t *testing.T, g *gated) { g.times(t, 30, always(errDefect)) }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGated(t)
				tt.do(t, g)
				if got := g.open(t); got != tt.want {
					t.Errorf("open = %v, want %v", got, tt.want)
				}
			})
		})
	}
}

func TestClosesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGated(t)
		g.times(t, 5, always(errGone))
		time.Sleep(1900 * time.Millisecond)
		if !g.open(t) {
			t.Error("closed after 1.9s, want 2s")
		}
		time.Sleep(200 * time.Millisecond)
		g.times(t, 1, always(errGone)) // the first try
		if !g.open(t) {
			t.Error("closed though the first try has failed")
		}
		time.Sleep(2100 * time.Millisecond)
		for range 3 {
			if g.open(t) {
				t.Fatal("a try was refused")
			}
		}
		g.times(t, 4, always(errGone))
		if g.open(t) {
			t.Error("open after three successes and four failures, want closed, with a new count")
		}
	})
}

// While it is unknown whether the store is back, few requests try it, and the
// others do not wait for them.
func TestFewTries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGated(t)
		g.times(t, 5, always(errGone))
		time.Sleep(2100 * time.Millisecond)
		asked := g.asked.Load()
		back := make(chan struct{})
		g.fail = func(context.Context) error { <-back; return nil }
		for range 3 {
			go g.acquire(t.Context())
		}
		synctest.Wait()
		if !g.open(t) {
			t.Error("a fourth request was let through")
		}
		close(back)
		synctest.Wait()
		if got := g.asked.Load() - asked; got != 3 {
			t.Errorf("the store was asked %d times, want 3", got)
		}
		g.fail = nil
		if g.open(t) {
			t.Error("open after three successes")
		}
	})
}

func TestRefusalSaysHowLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGated(t)
		g.times(t, 5, always(errGone))
		time.Sleep(500 * time.Millisecond)
		if err := g.acquire(t.Context()); err == nil || !strings.Contains(err.Error(), "1.5s") {
			t.Errorf("err = %v, want one with 1.5s", err)
		}
	})
}

// An error of the store is passed on as it is.
func TestPassesErrors(t *testing.T) {
	g := newGated(t)
	g.fail = always(errDefect)
	if err := g.acquire(t.Context()); err != errDefect {
		t.Errorf("err = %v, want the store's own", err)
	}
}

func TestGatesNewLocksAlone(t *testing.T) {
	g := newGated(t)
	if err := g.acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, held := t.Context(), g.name()
	seen, err := g.gate.Look(ctx, held)
	if err != nil || len(seen.Record.Holds) != 1 {
		t.Fatalf("Look = %+v, %v, want a hold", seen, err)
	}
	g.times(t, 5, always(errGone))
	if !g.open(t) {
		t.Fatal("not open")
	}
	if _, err := g.gate.Join(ctx, held, ledger.Entry{Node: "b", Want: 1}, 0); !errors.Is(err, backend.ErrRefused) {
		t.Errorf("Join = %v, want %v", err, backend.ErrRefused)
	}
	errs, err := g.gate.Renew(ctx, []ledger.Renewal{{Name: held, ID: seen.Record.Holds[0].ID, TTL: time.Minute}})
	if err != nil || errs[0] != nil {
		t.Errorf("Renew = %v, %v, want nil", errs, err)
	}
	if r, err := g.gate.Swap(ctx, swap(held, seen, ledger.Op{Verb: ledger.Leave})); err != nil || !r.Written {
		t.Errorf("give back = %+v, %v, want written", r, err)
	}
}

// What may have been granted is found out, however open it is.
func TestPassesRepeats(t *testing.T) {
	g := newGated(t)
	g.times(t, 10, always(errGone))
	if !g.open(t) {
		t.Fatal("not open")
	}
	lost := "n1" // the first that had no answer
	if r, err := g.gate.Swap(t.Context(), swap(lost, ledger.Reply{}, ledger.Op{Want: 1})); err != nil || !r.Written {
		t.Errorf("repeat = %+v, %v, want written", r, err)
	}
}

// A store that panics has not answered, and its request does not stay counted as
// under way.
func TestPanicCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGated(t)
		g.times(t, 5, always(errGone))
		time.Sleep(2100 * time.Millisecond)
		g.fail = func(context.Context) error { panic("defect") }
		func() {
			defer func() { _ = recover() }()
			_ = g.acquire(t.Context())
		}()
		g.fail = nil
		if !g.open(t) {
			t.Error("closed after a try that panicked")
		}
	})
}

// neverBack is a ping of a store that does not come back.
func neverBack(context.Context) error { return errGone }

// half is a store of which the part "bad" does not answer.
type half struct {
	ledger.Table
	asked atomic.Int32
}

func (h *half) Join(_ context.Context, name string, _ ledger.Entry, _ backend.Fence) (ledger.Reply, error) {
	h.asked.Add(1)
	if name == "bad" {
		return ledger.Reply{}, errGone
	}
	return ledger.Reply{}, nil
}

func (h *half) Close() error { return nil }

// A part that does not answer is left alone, and no other.
func TestParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &half{}
		gate := breaker.Parts(h, func(_ context.Context, name string) string { return name }, neverBack, slog.New(slog.DiscardHandler))
		defer gate.Close()
		ask := func(name string) error {
			_, err := gate.Join(t.Context(), name, ledger.Entry{}, 0)
			return err
		}
		for range 20 {
			_ = ask("bad")
		}
		if n := h.asked.Load(); n != 5 {
			t.Errorf("the part was asked %d times, want 5", n)
		}
		if err := ask("bad"); !errors.Is(err, backend.ErrRefused) {
			t.Errorf("err = %v, want %v", err, backend.ErrRefused)
		}
		if err := ask("good"); err != nil {
			t.Errorf("the other part: err = %v, want an answer", err)
		}
		if now, opened := breaker.StateOf(gate); now != breaker.Open || opened != 1 {
			t.Errorf("state = %v, opened %d times, want open, once", now, opened)
		}
		time.Sleep(3 * time.Second)
		if now, _ := breaker.StateOf(gate); now != breaker.HalfOpen {
			t.Errorf("state = %v, want half-open", now)
		}
		if now, opened := breaker.StateOf(h); now != breaker.Closed || opened != 0 {
			t.Errorf("state of what is no breaker = %v, opened %d times, want closed, never", now, opened)
		}
	})
}

// Whoever reads the log is told why new locks are refused: once, however many tries fail, until
// the store answers again.
func TestBreakerLogsWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		g := newLogging(t, slog.NewTextHandler(&log, nil))
		wants := func(why, again int) {
			t.Helper()
			if strings.Count(log.String(), errGone.Error()) != why || strings.Count(log.String(), "answers again") != again {
				t.Errorf("log = %q, want the reason %d times, and %d times that it answers again", log.String(), why, again)
			}
		}
		g.times(t, 20, always(errGone))
		wants(1, 0)
		for range 3 {
			time.Sleep(2100 * time.Millisecond)
			g.times(t, 1, always(errGone))
		}
		wants(1, 0)
		time.Sleep(2100 * time.Millisecond)
		g.times(t, 3, nil)
		wants(1, 1)
		g.times(t, 20, always(errGone))
		wants(2, 1)
	})
}
