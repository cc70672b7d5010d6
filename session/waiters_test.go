package session_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgw/lockgw/session"
)

// The limit is of those who wait at this node, be it in one queue or each by itself.
func TestWaitersPerLock(t *testing.T) {
	for name, tt := range map[string]struct {
		strict bool
		a      session.Acquire
	}{
		"exclusive": {false, session.Acquire{}},
		"strict":    {true, session.Acquire{}},
		"semaphore": {false, session.Acquire{Limit: 1}},
		"shared":    {false, session.Acquire{Shared: true}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c := newCluster(t, 1, session.Config{Fairness: session.Fairness{Strict: tt.strict}, Limits: session.Limits{WaitersPerLock: 3}}, nil)
				holder, a := c.open(0), tt.a
				a.Wait = time.Minute
				mustAcquire(t, holder, "x", session.Acquire{Limit: a.Limit})
				var waiters []<-chan *session.Lease
				for range 3 {
					waiters = append(waiters, wait(t, c.open(0), "x", a))
				}
				late := c.open(0)
				_, err := late.Acquire(t.Context(), "x", a)
				wantCode(t, err, session.CodeTooManyWaiters)
				mustRelease(t, holder, "x")
				within(t, time.Second, waiters[0])
				wait(t, late, "x", a)
				if n := c.nodes[0].Stats().Waiters; !a.Shared && n != 3 {
					t.Errorf("%d waiters, want 3: there was room again", n)
				}
			})
		})
	}
}

// Whose wait is over while it stands behind others of its node is told who holds the name, as the
// first of them is.
func TestWaitIsOverBehindOthers(t *testing.T) {
	for name, tt := range map[string]struct{ held, wanted session.Acquire }{
		"exclusive": {},
		"shared":    {wanted: session.Acquire{Shared: true}},
		"permits":   {session.Acquire{Limit: 1}, session.Acquire{Limit: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c := newCluster(t, 2, session.Config{}, nil)
				l := mustAcquire(t, c.open(1), "x", tt.held)
				var all sync.WaitGroup
				for i := range 4 {
					s, a := c.open(0), tt.wanted
					a.Wait = time.Duration(1+i%2) * 10 * time.Second
					all.Go(func() {
						_, err := s.Acquire(context.Background(), "x", a)
						var e *session.Error
						if !errors.As(err, &e) || e.Code != session.CodeWaitTimeout || e.Holder == nil || e.Holder.Owner != l.Owner() {
							t.Errorf("waited %v: %v, want that the wait is over, and who holds it", a.Wait, err)
						}
					})
					synctest.Wait()
				}
				all.Wait()
			})
		})
	}
}

// It is told so also if the store has not answered the first of them by then, as soon as it does; and
// that the store is away, if that does not answer at all.
func TestWaitIsOverBehindOneThatIsNotAnswered(t *testing.T) {
	for _, tt := range []struct {
		held         bool
		takes, after time.Duration
		want         session.Code
	}{
		{true, time.Second, 2 * time.Second, session.CodeWaitTimeout}, // it asks, and then it queues
		{false, time.Second, time.Second, session.CodeWaitTimeout},
		{true, time.Minute, 2100 * time.Millisecond, session.CodeOutcomeUnknown},
	} {
		bubble(t, func(t *testing.T) {
			f := &faulty{}
			c := newCluster(t, 2, session.Config{}, hooked(f))
			if tt.held {
				mustAcquire(t, c.open(1), "x", session.Acquire{})
			}
			f.set(nil, func(string) error { time.Sleep(tt.takes); return nil })
			first := wait(t, c.open(0), "x", session.Acquire{Wait: 2 * time.Minute})
			began := time.Now()
			_, err := c.open(0).Acquire(t.Context(), "x", session.Acquire{Wait: 100 * time.Millisecond})
			if wantCode(t, err, tt.want); time.Since(began) > tt.after {
				t.Errorf("told after %v, want within %v", time.Since(began), tt.after)
			}
			f.set(nil, nil)
			<-first
		})
	}
}

// Whose wait is over while the name, which is free, is being got for it is not told that another
// holds it: it gets the name by the answer, as one that does not want to wait.
func TestWaitIsOverWhileTheNameIsGot(t *testing.T) {
	for takes, want := range map[time.Duration]session.Code{40 * time.Millisecond: "", time.Minute: session.CodeOutcomeUnknown} {
		for _, wait := range []time.Duration{0, 50 * time.Millisecond} {
			bubble(t, func(t *testing.T) {
				f := &faulty{}
				c := newCluster(t, 2, session.Config{}, hooked(f))
				for _, node := range []int{0, 1} { // so that the first one's copy is old
					s := c.open(node)
					mustAcquire(t, s, "x", session.Acquire{})
					mustRelease(t, s, "x")
				}
				var n atomic.Int32
				f.set(nil, func(string) error {
					if n.Add(1) == 1 {
						time.Sleep(40 * time.Millisecond)
					} else {
						time.Sleep(takes)
					}
					return nil
				})
				_, err := c.open(0).Acquire(t.Context(), "x", session.Acquire{Wait: wait})
				if want != "" {
					wantCode(t, err, want)
				} else if err != nil {
					t.Errorf("waited %v: %v", wait, err)
				}
				f.set(nil, nil)
			})
		}
	}
}
