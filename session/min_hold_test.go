package session_test

import (
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend/memory"
	"github.com/lockgw/lockgw/session"
)

// fixed is a lease that nobody renews, for a name that is kept for longer than it lasts.
var fixed = session.Acquire{MinHold: 50 * time.Second, Fixed: true, TTL: 3 * time.Second}

// Who waits at the same node has the next fences asked for, and shortens nothing by that.
func TestMinHoldOfAFixedLease(t *testing.T) {
	for what, f := range map[string]session.Fairness{"turns": {MaxTurns: 1}, "strict": {Strict: true}} {
		t.Run(what, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c := newCluster(t, 1, session.Config{Fairness: f}, nil)
				s := c.open(0)
				began := time.Now()
				mustAcquire(t, s, "x", fixed)
				mustRelease(t, s, "x")
				time.Sleep(10 * time.Second)
				if st, err := c.nodes[0].Inspect(t.Context(), "x"); err != nil || st.Holder == nil {
					t.Errorf("holder = %+v, %v, while the name is kept", st.Holder, err)
				}
				first := wait(t, c.open(0), "x", session.Acquire{Wait: time.Minute})
				for range 5 {
					wait(t, c.open(0), "x", session.Acquire{Wait: time.Minute})
				}
				within(t, time.Minute, first)
				if kept := time.Since(began); kept < fixed.MinHold {
					t.Errorf("the name was kept for %v, want %v", kept, fixed.MinHold)
				}
			})
		})
	}
}

func TestRestartKeepsMinHoldOfAFixedLease(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := begin(t, memory.NewRows(), session.Config{})
		s, _ := p.open(patient)
		mustAcquire(t, s, "x", fixed)
		mustRelease(t, s, "x")
		time.Sleep(10 * time.Second)
		p = p.restart()
		newcomer := other(t, p)
		time.Sleep(35 * time.Second)
		_, err := newcomer.Acquire(t.Context(), "x", session.Acquire{})
		wantCode(t, err, session.CodeLocked)
		time.Sleep(6 * time.Second)
		mustAcquire(t, newcomer, "x", session.Acquire{})
	})
}

// The lease that is told of a name that is only kept does not outlast that, on no node.
func TestStatusOfAKeptName(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 2, session.Config{}, nil)
		s := c.open(0)
		mustAcquire(t, s, "x", session.Acquire{MinHold: 10 * time.Second})
		mustRelease(t, s, "x")
		time.Sleep(4 * time.Second)
		for i, node := range c.nodes {
			st, err := node.Inspect(t.Context(), "x")
			if err != nil || st.TTL <= 0 || st.TTL > 6*time.Second {
				t.Errorf("node %d: a lease of %v, %v, want no more than 6 s", i, st.TTL, err)
			}
		}
	})
}
