package session_test

import (
	"sync"
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
