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

// The fence of a hold that was broken from another node passes no check any more.
func TestCheckAfterABreak(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 2, session.Config{}, nil)
		l := mustAcquire(t, c.open(0), "x", session.Acquire{})
		if err := c.nodes[1].Break(t.Context(), "x", l.Fence(), "", "a test"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		for _, m := range c.nodes {
			wantCode(t, m.Check(t.Context(), "x", l.Fence()), session.CodeFenceMismatch)
		}
	})
}
