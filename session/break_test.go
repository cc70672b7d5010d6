package session_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/session"
)

// Broken from the node that holds it, and from another one.
func TestBreak(t *testing.T) {
	for i, where := range []string{"here", "elsewhere"} {
		t.Run(where, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c := newCluster(t, 2, session.Config{}, nil)
				s := c.open(0)
				l := mustAcquire(t, s, "x", session.Acquire{})
				waiter := wait(t, c.open(1), "x", session.Acquire{Wait: time.Minute})
				wantCode(t, c.nodes[i].Break(t.Context(), "x", l.Fence()+1, "a test"), session.CodeFenceMismatch)
				if !held(l) {
					t.Fatal("broken by another fence")
				}
				if err := c.nodes[i].Break(t.Context(), "x", l.Fence(), "a test"); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				select {
				case <-l.Done():
				default:
					t.Error("the holder was not told at once")
				}
				wantCode(t, l.Err(), session.CodeLost)
				if next := within(t, time.Second, waiter); next.Fence() <= l.Fence() {
					t.Errorf("next fence %d after %d", next.Fence(), l.Fence())
				}
				wantCode(t, c.nodes[i].Break(t.Context(), "y", 1, "a test"), session.CodeNotOwner)
			})
		})
	}
}

// A delay after a break keeps the name from everybody.
func TestBreakDelays(t *testing.T) {
	for i, where := range []string{"here", "elsewhere"} {
		t.Run(where, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c := newCluster(t, 2, session.Config{Delay: 10 * time.Second}, nil)
				l := mustAcquire(t, c.open(0), "x", session.Acquire{})
				if err := c.nodes[i].Break(t.Context(), "x", l.Fence(), "a test"); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				_, err := c.open(0).Acquire(t.Context(), "x", session.Acquire{Wait: 9 * time.Second})
				wantCode(t, err, session.CodeWaitTimeout)
				mustAcquire(t, c.open(1), "x", session.Acquire{Wait: 2 * time.Second})
			})
		})
	}
}

// A message that says so does not end a hold that the store has.
func TestBrokenIsAHint(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := &faulty{}
		c := newCluster(t, 1, session.Config{}, hooked(f))
		l := mustAcquire(t, c.open(0), "x", session.Acquire{})
		f.tell(backend.Hint{Kind: backend.HintBroken, Name: "x", Fence: l.Fence()})
		f.tell(backend.Hint{Kind: backend.HintBroken, Name: "x", Fence: l.Fence() + 1})
		synctest.Wait()
		if !held(l) {
			t.Errorf("lost by a message: %v", l.Err())
		}
	})
}
