//go:build defects

package model_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/memory"
	"github.com/lockgw/lockgw/session"
)

var errLost = fmt.Errorf("%w: connection reset", backend.ErrUnavailable)

// slow is a store with a slow way there or back, per request.
type slow struct {
	backend.Backend
	there, back func(verb string, r backend.Request) error
	tell        func(backend.Hint)
	drop        func(backend.Hint) bool
	wg          sync.WaitGroup
}

func (s *slow) around(ctx context.Context, verb string, r backend.Request, do func() (backend.Answer, error)) (backend.Answer, error) {
	type result struct {
		a   backend.Answer
		err error
	}
	done := make(chan result, 1)
	s.wg.Go(func() {
		var x result
		if s.there != nil {
			x.err = s.there(verb, r)
		}
		if x.err == nil {
			x.a, x.err = do()
			if s.back != nil {
				if err := s.back(verb, r); err != nil {
					x.err = err
				}
			}
		}
		done <- x
	})
	select {
	case x := <-done:
		return x.a, x.err
	case <-ctx.Done():
		return backend.Answer{}, errLost
	}
}

func (s *slow) Acquire(ctx context.Context, r backend.Request) (backend.Answer, error) {
	return s.around(ctx, "acquire", r, func() (backend.Answer, error) { return s.Backend.Acquire(ctx, r) })
}

func (s *slow) Extend(ctx context.Context, r backend.Request) (backend.Answer, error) {
	return s.around(ctx, "extend", r, func() (backend.Answer, error) { return s.Backend.Extend(ctx, r) })
}

func (s *slow) Describe(ctx context.Context, r backend.Request) error {
	_, err := s.around(ctx, "describe", r, func() (backend.Answer, error) { return backend.Answer{}, s.Backend.Describe(ctx, r) })
	return err
}

func (s *slow) Release(ctx context.Context, r backend.Request) (backend.Answer, error) {
	return s.around(ctx, "release", r, func() (backend.Answer, error) { return s.Backend.Release(ctx, r) })
}

func (s *slow) Renew(ctx context.Context, rs []backend.Renewal) ([]error, error) {
	var errs []error
	_, err := s.around(ctx, "renew", backend.Request{TTL: rs[0].TTL}, func() (backend.Answer, error) {
		e, err := s.Backend.Renew(ctx, rs)
		errs = e
		return backend.Answer{}, err
	})
	return errs, err
}

func (s *slow) Listen(f func(backend.Hint)) {
	s.tell = f
	s.Backend.Listen(func(h backend.Hint) {
		if s.drop == nil || !s.drop(h) {
			f(h)
		}
	})
}

type rig struct {
	t     *testing.T
	store *memory.Store
	nodes []*session.Manager
	slow  *slow // of the first
}

func newRig(t *testing.T, n int, cfg session.Config) *rig {
	r := &rig{t: t, store: memory.NewStore(), slow: &slow{}}
	begin := time.Now().Add(-time.Hour)
	cfg.Clock = func() time.Duration { return time.Since(begin) }
	for i := range n {
		var b backend.Backend = memory.Open(r.store, backend.Node{ID: fmt.Sprintf("n%d", i), Incarnation: 1})
		if i == 0 {
			r.slow.Backend = b
			b = r.slow
		}
		m := session.New(b, cfg)
		r.nodes = append(r.nodes, m)
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			_ = m.Close(ctx)
			r.slow.wg.Wait()
			_ = b.Close()
		})
	}
	return r
}

func (r *rig) open(i int) *session.Session {
	r.t.Helper()
	s, _, err := r.nodes[i].Open(session.Options{Peer: session.NoPeer()})
	if err != nil {
		r.t.Fatal(err)
	}
	return s
}

func (r *rig) status() backend.Status {
	st, err := memory.Open(r.store, backend.Node{ID: "witness", Incarnation: 1}).Inspect(r.t.Context(), "x")
	if err != nil {
		r.t.Fatal(err)
	}
	return st
}

func acquire(t *testing.T, s *session.Session, a session.Acquire) *session.Lease {
	t.Helper()
	g, err := s.Acquire(context.Background(), "x", a)
	if err != nil {
		t.Fatalf("acquire: %v", err)
	}
	return g.Lease
}

func waits(s *session.Session, a session.Acquire) <-chan error {
	c := make(chan error, 1)
	go func() {
		_, err := s.Acquire(context.Background(), "x", a)
		c <- err
	}()
	synctest.Wait()
	return c
}

// D1a: no fault at all. The extend of the last turn overtakes nothing, it is
// merely slower than the re-entry's describe.
func TestExtendSetsCountBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1, session.Config{Fairness: session.Fairness{MaxTurns: 1}})
		r.slow.there = func(verb string, q backend.Request) error {
			if verb == "extend" {
				time.Sleep(5 * time.Millisecond)
			}
			return nil
		}
		a := r.open(0)
		acquire(t, a, session.Acquire{})
		got := waits(r.open(0), session.Acquire{Wait: time.Minute}) // prefetch leaves now
		l := acquire(t, a, session.Acquire{})                       // enters again
		v, _ := l.View()
		time.Sleep(time.Second)
		if st := r.status(); st.Count != v.Count {
			t.Errorf("count in the store = %d, told %d", st.Count, v.Count)
		}
		_, _ = a.Release(t.Context(), "x", 1, true, "")
		<-got
	})
}

// D1b: no fault. The describe of the turn and that of a re-entry are under way at
// once and arrive in the other order.
func TestDescribeSetsCountBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1, session.Config{})
		r.slow.there = func(verb string, q backend.Request) error {
			if verb == "describe" && q.Count == 1 {
				time.Sleep(5 * time.Millisecond)
			}
			return nil
		}
		a, b := r.open(0), r.open(0)
		acquire(t, a, session.Acquire{})
		got := waits(b, session.Acquire{Wait: time.Minute})
		_, _ = a.Release(t.Context(), "x", 1, true, "")
		if err := <-got; err != nil {
			t.Fatal(err)
		}
		time.Sleep(101 * time.Millisecond)
		v, _ := acquire(t, b, session.Acquire{}).View()
		time.Sleep(time.Second)
		if st := r.status(); st.Count != v.Count {
			t.Errorf("count in the store = %d, told %d", st.Count, v.Count)
		}
	})
}

// D1c: a repeat of the extend writes the owner of the turn before.
func TestExtendSetsOwnerBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1, session.Config{Fairness: session.Fairness{MaxTurns: 1, ExactOwner: true}})
		first := true
		r.slow.there = func(verb string, q backend.Request) error {
			if verb == "acquire" && first { // the first sending is late, the second is not
				first = false
				go func() {
					time.Sleep(5 * time.Second)
					_, _ = r.slow.Backend.Acquire(context.Background(), q)
				}()
				return errLost
			}
			return nil
		}
		r2 := r
		_ = r2
		a, b := r.open(0), r.open(0)
		r.slow.there2(first)
		acquire(t, a, session.Acquire{Wait: time.Minute})
		got := waits(b, session.Acquire{Wait: time.Minute})
		_ = got
	})
}

func (s *slow) there2(bool) {}

// D2a: a holder outside lockgw lets go while the answer "queued" is on its way.
func TestFreeOvertakesAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1, session.Config{})
		foreign := memory.Open(r.store, backend.Node{ID: "java", Incarnation: 1})
		foreign.Listen(func(backend.Hint) {})
		a, err := foreign.Acquire(t.Context(), backend.Request{Name: "x", Seq: 1, Owner: "java:1", TTL: 30 * time.Second, Turns: 1})
		if err != nil {
			t.Fatal(err)
		}
		r.slow.drop = func(h backend.Hint) bool { return h.Kind == backend.HintGranted } // a foreign release grants to nobody
		slowly := true
		r.slow.back = func(verb string, q backend.Request) error {
			if verb == "acquire" && slowly {
				slowly = false
				time.Sleep(5 * time.Millisecond)
			}
			return nil
		}
		began := time.Now()
		got := waits(r.open(0), session.Acquire{Wait: time.Minute})
		time.Sleep(time.Millisecond)
		_, _ = foreign.Release(t.Context(), backend.Request{Name: "x", Seq: 2, Hold: a.Hold})
		r.slow.tell(backend.Hint{Kind: backend.HintFree, Name: "x"})
		if err := <-got; err != nil {
			t.Fatal(err)
		}
		if d := time.Since(began); d > 2*time.Second {
			t.Errorf("granted after %v, free since 1 ms", d)
		}
	})
}

// D2b: another node begins to wait while the answer "granted" is on its way.
func TestOthersOvertakesAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 2, session.Config{})
		slowly := true
		r.slow.back = func(verb string, q backend.Request) error {
			if verb == "acquire" && slowly {
				slowly = false
				time.Sleep(5 * time.Millisecond)
			}
			return nil
		}
		stop := make(chan struct{})
		var wg sync.WaitGroup
		for range 3 {
			s := r.open(0)
			wg.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					if _, err := s.Acquire(context.Background(), "x", session.Acquire{Wait: time.Minute}); err == nil {
						time.Sleep(500 * time.Millisecond)
						_, _ = s.Release(context.Background(), "x", 1, false, "")
					}
				}
			})
		}
		synctest.Wait()
		time.Sleep(time.Millisecond)
		began := time.Now()
		if err := <-waits(r.open(1), session.Acquire{Wait: 5 * time.Minute}); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(began); d > 2*time.Second {
			t.Errorf("the other node waited %v, want 50 ms and a turn", d)
		}
		close(stop)
		for _, m := range r.nodes {
			m.Drain()
		}
		wg.Wait()
	})
}

// D3: told before the store has the owner, by a wake-up that was for something else.
func TestToldBeforeSettled(t *testing.T) {
	for i := range 200 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, 1, session.Config{Fairness: session.Fairness{ExactOwner: true}})
				a, b := r.open(0), r.open(0)
				acquire(t, a, session.Acquire{})
				r.slow.there = func(verb string, q backend.Request) error {
					if verb == "renew" {
						time.Sleep(time.Millisecond)
					}
					return nil
				}
				go func() { _, _ = a.Release(context.Background(), "x", 1, false, "") }()
				l := acquire(t, b, session.Acquire{Wait: time.Minute, OnQueued: func(int, *session.Holder) {}})
				if st := r.status(); st.Owner != l.Owner() {
					t.Errorf("told with %s in the store, want %s", st.Owner, l.Owner())
				}
			})
		})
	}
}

// D4: the store stops answering while the next turn's owner is being written.
func TestSettleWithoutAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1, session.Config{Fairness: session.Fairness{ExactOwner: true}})
		a, b := r.open(0), r.open(0)
		acquire(t, a, session.Acquire{})
		r.slow.there = func(verb string, q backend.Request) error { return errLost }
		began := time.Now()
		got := waits(b, session.Acquire{Wait: time.Second})
		_, _ = a.Release(context.Background(), "x", 1, false, "")
		err := <-got
		if d := time.Since(began); d > 3*time.Second || err == nil {
			t.Errorf("answered %v after %v, want an error after 3 s at most", err, d)
		}
	})
}

// D5: an acquire is repeated, and its first sending arrives when the lease is over.
func TestLateAcquireLeavesAHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1, session.Config{TTL: 2 * time.Second})
		first := true
		r.slow.there = func(verb string, q backend.Request) error {
			switch {
			case verb == "acquire" && first:
				first = false
				go func() {
					time.Sleep(2500 * time.Millisecond)
					_, _ = r.slow.Backend.Acquire(context.Background(), q)
				}()
				return errLost
			case verb != "acquire" && time.Since(start(r)) < 3*time.Second:
				return errLost
			}
			return nil
		}
		start(r)
		acquire(t, r.open(0), session.Acquire{Wait: time.Minute})
		time.Sleep(4 * time.Second)
		synctest.Wait()
		if st := r.status(); st.Held {
			t.Errorf("held by %s for %v more, and nobody wants it", st.Owner, st.TTL)
		}
	})
}

var begun time.Time

func start(*rig) time.Time {
	if begun.IsZero() {
		begun = time.Now()
	}
	return begun
}

var _ = errors.New
