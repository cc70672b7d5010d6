package session_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgw/lockgw/session"
)

// A hold that is given back while it is about to be broken from another node has gone on to the
// next caller there, who keeps it.
func TestBreakMeetsATurn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := &faulty{}
		c := newCluster(t, 2, session.Config{}, hooked(f))
		s, next := c.open(1), c.open(1)
		l := mustAcquire(t, s, "x", session.Acquire{})
		waiter := wait(t, next, "x", session.Acquire{Wait: time.Minute})
		var once sync.Once
		f.set(func(verb string) error {
			if verb != "look" {
				once.Do(func() { mustRelease(t, s, "x") })
			}
			return nil
		}, nil)
		err := c.nodes[0].Break(t.Context(), "x", l.Fence(), "", "a test")
		synctest.Wait()
		turn := within(t, time.Second, waiter)
		if turn.Fence() == l.Fence() {
			t.Fatal("the same fence twice")
		}
		if time.Sleep(time.Second); !held(turn) {
			t.Errorf("the break of fence %d (%v): %v", l.Fence(), err, turn.Err())
		}
	})
}

// The fence of a hold that was broken passes no check any more, whichever node has done it. Who
// has the name next, be it in turn, passes with its own.
func TestCheckAfterABreak(t *testing.T) {
	for by := range 2 {
		for i, waits := range []bool{false, true, false, true} {
			bubble(t, func(t *testing.T) {
				c := newCluster(t, 2, session.Config{Fairness: session.Fairness{Retain: time.Duration(i/2) * time.Minute}}, nil)
				l := mustAcquire(t, c.open(0), "x", session.Acquire{})
				var waiter <-chan *session.Lease
				if waits {
					waiter = wait(t, c.open(0), "x", session.Acquire{Wait: time.Minute})
				}
				if err := c.nodes[by].Break(t.Context(), "x", l.Fence(), "", "a test"); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				for _, m := range c.nodes {
					wantCode(t, m.Check(t.Context(), "x", l.Fence()), session.CodeFenceMismatch)
				}
				if !waits {
					return
				}
				next := within(t, time.Minute, waiter)
				for _, m := range c.nodes {
					if err := m.Check(t.Context(), "x", next.Fence()); err != nil {
						t.Errorf("broken by node %d: check of the next fence: %v", by, err)
					}
				}
			})
		}
	}
}

// A name that is kept for its min_hold is given up, or broken by one of several: only a break keeps
// it from everybody for a while.
func TestBreaksAsAKeptNameIsGivenUp(t *testing.T) {
	for range 200 { // whichever is first
		bubble(t, func(t *testing.T) {
			c := newCluster(t, 1, session.Config{Delay: time.Minute}, nil)
			s := c.open(0)
			l := mustAcquire(t, s, "x", session.Acquire{MinHold: time.Second})
			mustRelease(t, s, "x")
			var broken atomic.Int32
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() {
					time.Sleep(time.Second)
					if l.BreakSeen(t.Context()) == nil {
						broken.Add(1)
					}
				})
			}
			wg.Wait()
			_, err := c.open(0).Acquire(t.Context(), "x", session.Acquire{})
			if n := broken.Load(); n > 1 || (n == 0) != (err == nil) {
				t.Errorf("%d breaks, and then an acquire: %v", n, err)
			}
		})
	}
}
