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
	"github.com/lockgw/lockgw/backend/memory"
)

var (
	errGone    = fmt.Errorf("%w: connection refused", backend.ErrUnavailable)
	errDefect  = errors.New("ERR in a script")
	errRefused = fmt.Errorf("%w: out of memory", backend.ErrRefused)
)

// faulty is a store that can fail.
type faulty struct {
	backend.Backend
	fail  func(ctx context.Context) error // nil: it works
	asked atomic.Int32
}

func (f *faulty) Acquire(ctx context.Context, r backend.Request) (backend.Answer, error) {
	f.asked.Add(1)
	if f.fail != nil {
		return backend.Answer{Wait: time.Minute}, f.fail(ctx)
	}
	return f.Backend.Acquire(ctx, r)
}

// silent does not answer before the end of ctx.
func silent(ctx context.Context) error {
	<-ctx.Done()
	return fmt.Errorf("%w: %w", backend.ErrUnavailable, ctx.Err())
}

func always(err error) func(context.Context) error {
	return func(context.Context) error { return err }
}

type gated struct {
	*faulty
	gate backend.Backend
	seq  atomic.Uint64
}

func newGated() *gated {
	f := &faulty{Backend: memory.Open(memory.NewStore(), backend.Node{ID: "a", Incarnation: 1})}
	return &gated{faulty: f, gate: breaker.New(f, slog.New(slog.DiscardHandler))}
}

func (g *gated) acquire(ctx context.Context) error {
	_, err := g.gate.Acquire(ctx, backend.Request{Name: "n", Seq: g.seq.Add(1), Owner: "u:1", Count: 1, TTL: time.Minute, Turns: 1})
	return err
}

// times acquires n times while the store fails in one way.
func (g *gated) times(t *testing.T, n int, fail func(context.Context) error) {
	t.Helper()
	g.fail = fail
	for range n {
		_ = g.acquire(t.Context())
	}
	g.fail = nil
}

// halves acquires n times with an answer and n times without, in turns.
func (g *gated) halves(t *testing.T, n int) {
	t.Helper()
	for range n {
		g.times(t, 1, nil)
		g.times(t, 1, always(errGone))
	}
}

// open tells whether the next Acquire is refused without asking the store.
func (g *gated) open(t *testing.T) bool {
	t.Helper()
	asked := g.asked.Load()
	err := g.acquire(t.Context())
	refused := g.asked.Load() == asked
	if refused && (!errors.Is(err, backend.ErrRefused) || errors.Is(err, backend.ErrUnavailable)) {
		t.Errorf("err = %v, want %v", err, backend.ErrRefused)
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
		{"held", func(t *testing.T, g *gated) { g.times(t, 30, always(backend.ErrHeld)) }, false},
		{"not held", func(t *testing.T, g *gated) { g.times(t, 30, always(backend.ErrNotHeld)) }, false},
		{"stale", func(t *testing.T, g *gated) { g.times(t, 30, always(backend.ErrStale)) }, false},
		{"refused", func(t *testing.T, g *gated) { g.times(t, 30, always(errRefused)) }, false},
		{"a script's error", func(t *testing.T, g *gated) { g.times(t, 30, always(errDefect)) }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGated()
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
		g := newGated()
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
		g := newGated()
		g.times(t, 5, always(errGone))
		time.Sleep(2100 * time.Millisecond)
		asked := g.asked.Load()
		back := make(chan struct{})
		g.fail = func(context.Context) error { <-back; return nil }
		for range 3 {
			go g.gate.Acquire(t.Context(), backend.Request{Name: "n"})
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
		g := newGated()
		g.times(t, 5, always(errGone))
		time.Sleep(500 * time.Millisecond)
		if err := g.acquire(t.Context()); err == nil || !strings.Contains(err.Error(), "1.5s") {
			t.Errorf("err = %v, want one with 1.5s", err)
		}
	})
}

// An error may come with an Answer, which says how long to wait.
func TestPassesAnswers(t *testing.T) {
	g := newGated()
	g.fail = always(backend.ErrHeld)
	a, err := g.gate.Acquire(t.Context(), backend.Request{Name: "n"})
	if a.Wait != time.Minute || err != backend.ErrHeld {
		t.Errorf("Acquire = %+v, %v, want the store's own answer", a, err)
	}
}

func TestGatesAcquireAlone(t *testing.T) {
	g := newGated()
	if err := g.acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	st, err := g.gate.Inspect(t.Context(), "n")
	if err != nil || !st.Held {
		t.Fatalf("Inspect = %+v, %v, want held", st, err)
	}
	g.times(t, 5, always(errGone))
	if !g.open(t) {
		t.Fatal("not open")
	}
	ctx := t.Context()
	errs, err := g.gate.Renew(ctx, []backend.Renewal{{Name: "n", Hold: st.Hold, TTL: time.Minute}})
	if err != nil || errs[0] != nil {
		t.Errorf("Renew = %v, %v, want nil", errs, err)
	}
	if _, err := g.gate.Release(ctx, backend.Request{Name: "n", Seq: g.seq.Add(1), Hold: st.Hold, Turn: st.Hold}); err != nil {
		t.Errorf("Release: %v", err)
	}
	if st, err := g.gate.Inspect(ctx, "n"); err != nil || st.Held {
		t.Errorf("Inspect after Release = %+v, %v, want free", st, err)
	}
}

// What an earlier sending may have been granted is found out, however open it is.
func TestPassesRepeats(t *testing.T) {
	g := newGated()
	g.times(t, 10, always(errGone))
	if !g.open(t) {
		t.Fatal("not open")
	}
	r := backend.Request{Name: "n", Seq: g.seq.Add(1), Owner: "u:1", Count: 1, TTL: time.Minute, Turns: 1, Repeat: true}
	if a, err := g.gate.Acquire(t.Context(), r); err != nil || !a.Granted {
		t.Errorf("repeat = %+v, %v, want granted", a, err)
	}
}

// A store that panics has not answered, and its request does not stay counted as
// under way.
func TestPanicCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGated()
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
