package session_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/memory"
	"github.com/lockgw/lockgw/session"
)

// forgetful is a store that knows of no hold any more by the time of the first renewal,
// and does not let itself be told.
type forgetful struct {
	ledger.Table
	gone atomic.Bool
}

func (f *forgetful) Renew(_ context.Context, rs []ledger.Renewal) ([]error, error) {
	f.gone.Store(true)
	errs := make([]error, len(rs))
	for i := range errs {
		errs[i] = backend.ErrNotHeld
	}
	return errs, nil
}

func (f *forgetful) Look(ctx context.Context, name string) (ledger.Reply, error) {
	if f.gone.Load() {
		return ledger.Reply{}, nil
	}
	return f.Table.Look(ctx, name)
}

func (f *forgetful) Swap(ctx context.Context, s ledger.Swap) (ledger.Reply, error) {
	if f.gone.Load() {
		return ledger.Reply{}, nil
	}
	return f.Table.Swap(ctx, s)
}

func (f *forgetful) Info() backend.Info {
	i := f.Table.Info()
	i.Shared = true
	return i
}

// A message alone grants nothing, whoever sends it.
func TestForgedGrant(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := &faulty{}
		c := newCluster(t, 2, session.Config{}, hooked(f))
		holder := mustAcquire(t, c.open(1), "x", session.Acquire{})
		got := wait(t, c.open(0), "x", session.Acquire{Wait: 20 * time.Second})
		for i := range 100 {
			f.tell(ledger.Addressed{Name: "x", Message: ledger.Message{Kind: ledger.Kind(i % 4)}})
			f.tell(ledger.Addressed{Name: "nobody waits", Message: ledger.Message{Kind: ledger.Look}})
			synctest.Wait()
		}
		select {
		case l := <-got:
			t.Fatalf("granted by a forged message: fence %d", l.Fence())
		default:
		}
		if !held(holder) {
			t.Error("the holder lost it")
		}
	})
}

// A grant message that overtakes the answer "queued" is not lost.
func TestGrantOvertakesAnswer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := &faulty{after: func(verb string) error {
			if verb == "join" {
				time.Sleep(200 * time.Millisecond)
			}
			return nil
		}}
		c := newCluster(t, 2, session.Config{}, hooked(f))
		a := c.open(1)
		mustAcquire(t, a, "x", session.Acquire{})
		got := wait(t, c.open(0), "x", session.Acquire{Wait: time.Minute})
		mustRelease(t, a, "x")
		within(t, 300*time.Millisecond, got)
	})
}

// The same for the answer to an extend that has let go.
func TestGrantOvertakesYield(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := &faulty{after: func(verb string) error {
			if verb == "write" {
				time.Sleep(200 * time.Millisecond)
			}
			return nil
		}}
		c := newCluster(t, 2, session.Config{Fairness: session.Fairness{MaxTurns: 1}}, hooked(f))
		a, far := c.open(0), c.open(1)
		mustAcquire(t, a, "x", session.Acquire{})
		other := wait(t, far, "x", session.Acquire{Wait: time.Minute})
		got := wait(t, c.open(0), "x", session.Acquire{Wait: time.Minute})
		mustRelease(t, a, "x")
		within(t, 0, other)
		mustRelease(t, far, "x")
		within(t, 300*time.Millisecond, got)
	})
}

// A grant message that is lost costs about the time of a provisional hold.
func TestLostGrantMessage(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var lost atomic.Int32
		f := &faulty{drop: func(m ledger.Addressed) bool { return m.Kind == ledger.Look && lost.Add(1) == 1 }}
		c := newCluster(t, 2, session.Config{}, hooked(f))
		a := c.open(1)
		mustAcquire(t, a, "x", session.Acquire{})
		got := wait(t, c.open(0), "x", session.Acquire{Wait: time.Minute})
		mustRelease(t, a, "x")
		within(t, 1500*time.Millisecond, got)
	})
}

// The second in the queue serves itself when the first does not confirm and the
// node that passed the name on is gone.
func TestSecondWatches(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := &faulty{drop: func(m ledger.Addressed) bool { return m.Kind == ledger.Look }}
		c := newCluster(t, 3, session.Config{TTL: time.Minute}, hooked(f))
		a := c.open(2)
		mustAcquire(t, a, "x", session.Acquire{})
		first := wait(t, c.open(0), "x", session.Acquire{Wait: 5 * time.Minute})
		second := wait(t, c.open(1), "x", session.Acquire{Wait: 5 * time.Minute})
		c.nodes[2].Drain()
		a.End(t.Context(), "gone")
		if err := c.nodes[2].Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		within(t, 1500*time.Millisecond, second)
		select {
		case <-first:
			t.Error("the first was granted without a message")
		default:
		}
	})
}

// A node whose subscription was broken asks again when it is back.
func TestResync(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := &faulty{drop: func(ledger.Addressed) bool { return true }}
		c := newCluster(t, 2, session.Config{}, hooked(f))
		a := c.open(1)
		mustAcquire(t, a, "x", session.Acquire{})
		got := wait(t, c.open(0), "x", session.Acquire{Wait: time.Minute})
		mustRelease(t, a, "x")
		time.Sleep(100 * time.Millisecond)
		f.tell(ledger.Addressed{Message: ledger.Message{Kind: ledger.Resync}})
		within(t, 0, got)
	})
}

// A holder that dies runs no release; who waits asks when its lease is over,
// even when no message arrives at all.
func TestHolderDies(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := &faulty{drop: func(ledger.Addressed) bool { return true }}
		c := newCluster(t, 2, session.Config{TTL: 4 * time.Second, KeepHolds: true}, hooked(f))
		mustAcquire(t, c.open(1), "x", session.Acquire{})
		got := wait(t, c.open(0), "x", session.Acquire{Wait: time.Minute})
		if err := c.nodes[1].Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		within(t, 5*time.Second, got)
	})
}

// A provisional grant for which nobody waits any more is given back at once.
func TestUnwantedGrant(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 3, session.Config{}, nil)
		a := c.open(2)
		mustAcquire(t, a, "x", session.Acquire{})
		// As from a request of node 0 that arrives when nobody wants it any more.
		late := memory.OpenTable(c.rows, "n0")
		if _, err := late.Join(t.Context(), "x", ledger.Entry{Node: "n0", Want: 1}, 0); err != nil {
			t.Fatal(err)
		}
		got := wait(t, c.open(1), "x", session.Acquire{Wait: time.Minute})
		mustRelease(t, a, "x")
		within(t, 0, got)
	})
}

// Who gives up leaves the store's queue, too.
func TestGivingUpLeavesTheQueue(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 2, session.Config{}, nil)
		mustAcquire(t, c.open(1), "x", session.Acquire{})
		began := time.Now()
		_, err := c.open(0).Acquire(t.Context(), "x", session.Acquire{Wait: 3 * time.Second})
		wantCode(t, err, session.CodeWaitTimeout)
		if d := time.Since(began); d != 3*time.Second {
			t.Errorf("waited %v, want 3 s", d)
		}
		synctest.Wait()
		if q := c.record("x").Queue; len(q) != 0 {
			t.Errorf("in the queue of the store: %+v, want nobody", q)
		}
	})
}

// An acquire whose outcome is unknown is undone before its lease ends.
func TestUnknownAcquireIsUndone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := &faulty{after: always(errLost, "acquire")}
		c := newCluster(t, 2, session.Config{}, hooked(f))
		began := time.Now()
		_, err := c.open(0).Acquire(t.Context(), "x", session.Acquire{})
		wantCode(t, err, session.CodeOutcomeUnknown)
		if d := time.Since(began); d > 2*time.Second {
			t.Errorf("answered after %v, want 2 s at most", d)
		}
		synctest.Wait()
		mustAcquire(t, c.open(1), "x", session.Acquire{})
	})
}

// A store that refuses gets the caller an answer at once, and nothing to undo.
func TestRefusedAcquire(t *testing.T) {
	bubble(t, func(t *testing.T) {
		full := errors.Join(backend.ErrRefused, errors.New("out of memory"))
		c := newCluster(t, 1, session.Config{}, hooked(&faulty{before: func(verb string) error {
			if verb == "release" {
				t.Error("undid what was never done")
			}
			return full
		}}))
		began := time.Now()
		_, err := c.open(0).Acquire(t.Context(), "x", session.Acquire{})
		wantCode(t, err, session.CodeUnavailable)
		_, err = c.open(0).Acquire(t.Context(), "y", session.Acquire{Wait: 10 * time.Second})
		wantCode(t, err, session.CodeUnavailable)
		if d := time.Since(began); d > 12*time.Second {
			t.Errorf("took %v, want the wait and 2 s at most", d)
		}
	})
}

// A defect in the store is told, and what it may have done is undone.
func TestStoreDefect(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := &faulty{after: always(errors.New("ERR in a script"), "acquire")}
		c := newCluster(t, 2, session.Config{}, hooked(f))
		_, err := c.open(0).Acquire(t.Context(), "x", session.Acquire{Wait: time.Minute})
		wantCode(t, err, session.CodeInternal)
		synctest.Wait()
		mustAcquire(t, c.open(1), "x", session.Acquire{})
		f.set(nil, always(errors.New("ERR in a script"), "release"))
		s := c.open(0)
		mustAcquire(t, s, "y", session.Acquire{})
		if r, err := s.Release(t.Context(), "y", 1, false, ""); err != nil || !r.Pending {
			t.Errorf("release = %+v, %v, want pending", r, err)
		}
		f.set(nil, nil)
	})
}

// Who waits is told of the defect also when the store has answered since, as it does to what
// is undone.
func TestStoreDefectIsToldLate(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := &faulty{}
		c := newCluster(t, 2, session.Config{}, hooked(f))
		holder := c.open(1)
		mustAcquire(t, holder, "x", session.Acquire{})
		w := queue(t, t.Context(), c.open(0), session.Acquire{Wait: time.Minute})
		synctest.Wait()
		f.set(nil, always(errors.New("ERR in a script"), "acquire"))
		mustRelease(t, holder, "x")
		synctest.Wait()
		p := &parked{}
		w.Then(p.told)
		synctest.Wait()
		p.over(t, session.CodeInternal)
		if err := p.now().err; !strings.Contains(err.Error(), "ERR in a script") {
			t.Errorf("told %v, want what the store has said", err)
		}
	})
}

// The same with a store that hangs: definite answers within wait + timeout, and
// recovery without new requests.
func TestStoreHangs(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var hung atomic.Bool
		var wg sync.WaitGroup
		f := &faulty{before: func(string) error {
			for hung.Load() {
				time.Sleep(100 * time.Millisecond)
			}
			return nil
		}}
		c := newCluster(t, 1, session.Config{}, hooked(f))
		hung.Store(true)
		for _, w := range []time.Duration{0, time.Second, 10 * time.Second} {
			s := c.open(0)
			wg.Go(func() {
				began := time.Now()
				_, err := s.Acquire(context.Background(), "x", session.Acquire{Wait: w})
				if !is(err, session.CodeOutcomeUnknown) && (w > 0 || !is(err, session.CodeLocked)) { // behind the others
					t.Errorf("wait %v: %v, want that the outcome is unknown", w, err)
				}
				if d := time.Since(began); d > w+2*time.Second+time.Millisecond {
					t.Errorf("wait %v: answered after %v", w, d)
				}
			})
		}
		got := wait(t, c.open(0), "x", session.Acquire{Wait: time.Minute})
		wg.Wait()
		hung.Store(false)
		within(t, 2*time.Second, got)
	})
}

// A wait that is over before the store has said who has the name gets the time that a
// request may take.
func TestWaitIsOverBeforeTheAnswer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		slow := func(string) error {
			time.Sleep(500 * time.Millisecond)
			return nil
		}
		c := newCluster(t, 1, session.Config{}, hooked(&faulty{after: slow}))
		a := c.open(0)
		mustAcquire(t, a, "x", session.Acquire{})
		go func() { _, _ = a.Release(context.Background(), "x", 1, false, "") }()
		synctest.Wait() // the release is under way
		within(t, 2*time.Second, wait(t, c.open(0), "x", session.Acquire{Wait: 100 * time.Millisecond}))
	})
}

// A release that the store does not confirm is pending, not done; it goes on.
func TestPendingRelease(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := &faulty{}
		c := newCluster(t, 2, session.Config{}, hooked(f))
		s := c.open(0)
		mustAcquire(t, s, "x", session.Acquire{})
		f.set(always(errLost), nil)
		r, err := s.Release(t.Context(), "x", 1, false, "")
		if err != nil || !r.Pending || r.FreeBy <= 0 || r.FreeBy > 30*time.Second {
			t.Errorf("release = %+v, %v, want pending", r, err)
		}
		// Not a re-entry: the hold is over, and this is a new acquire that has to wait.
		_, err = s.Acquire(t.Context(), "x", session.Acquire{})
		wantCode(t, err, session.CodeOutcomeUnknown)
		f.set(nil, nil)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		mustAcquire(t, c.open(1), "x", session.Acquire{})
	})
}

// An extend that has let go, and was granted the name again in an answer that got
// lost, leaves no hold behind when its callers give up.
func TestLostYield(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := &faulty{}
		c := newCluster(t, 2, session.Config{TTL: 5 * time.Second, Fairness: session.Fairness{MaxTurns: 1}}, hooked(f))
		a := c.open(0)
		mustAcquire(t, a, "x", session.Acquire{})
		far := c.open(1)
		other := wait(t, far, "x", session.Acquire{Wait: time.Minute})
		waits := wait(t, c.open(0), "x", session.Acquire{Wait: time.Second})
		f.set(nil, always(errLost, "write", "acquire", "renew"))
		mustRelease(t, a, "x")
		within(t, time.Second, other)
		mustRelease(t, far, "x")
		if l := <-waits; l != nil {
			t.Fatal("granted in spite of lost answers")
		}
		time.Sleep(2 * time.Second) // past the old hold's deadline
		synctest.Wait()
		mustAcquire(t, far, "x", session.Acquire{})
	})
}

// Who does not want to wait is told that the store is away, also if others wait for it: that
// they come first says nothing of whether the name is free.
func TestTryBehindThoseWhoWaitForTheStore(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := &faulty{before: always(errLost)}
		c := newCluster(t, 1, session.Config{}, hooked(f))
		got := wait(t, c.open(0), "x", session.Acquire{Wait: time.Minute})
		time.Sleep(5 * time.Second)
		_, err := c.open(0).Acquire(t.Context(), "x", session.Acquire{})
		wantCode(t, err, session.CodeUnavailable)
		f.set(nil, nil)
		within(t, 10*time.Second, got)
		_, err = c.open(0).Acquire(t.Context(), "x", session.Acquire{})
		wantCode(t, err, session.CodeLocked)
	})
}
