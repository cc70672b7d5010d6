package session_test

import (
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/session"
)

// max_hold counts from the grant that is told. A shorter one than the store takes to be
// asked once had the caller given one turn after the other, and none told.
func TestMaxHoldCountsFromTheGrant(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := &faulty{}
		c := newCluster(t, 1, session.Config{}, hooked(f))
		a, b := c.open(0), c.open(0)
		mustAcquire(t, a, "x", session.Acquire{})
		f.set(func(verb string) error {
			if verb == "renew" {
				time.Sleep(300 * time.Millisecond)
			}
			return nil
		}, nil)
		got := wait(t, b, "x", session.Acquire{Wait: time.Minute, Fixed: true, MaxHold: 200 * time.Millisecond})
		mustRelease(t, a, "x")
		l := within(t, time.Second, got)
		time.Sleep(150 * time.Millisecond)
		if !held(l) {
			t.Errorf("lost before its max_hold: %v", l.Err())
		}
		time.Sleep(100 * time.Millisecond)
		wantCode(t, l.Err(), session.CodeLost)
	})
}

// Nobody is told that a hold is valid beyond its max_hold, from when on another may have the name.
func TestMaxHoldBoundsTheDeadline(t *testing.T) {
	bubble(t, func(t *testing.T) {
		clock := fakeClock()
		c := newCluster(t, 2, session.Config{TTL: 30 * time.Second, Clock: clock}, nil)
		s := c.open(0)
		l := mustAcquire(t, s, "x", session.Acquire{MaxHold: 15 * time.Second})
		end := clock() + 15*time.Second
		for range 2 { // before and after a renewal
			v, err := l.View()
			if err != nil || v.Deadline != end || v.Left != end-clock() || !v.Expires.Equal(v.MaxHoldAt) {
				t.Errorf("%v before its max_hold it is valid for %v, until %v, not %v: %v", end-clock(), v.Left, v.Expires, v.MaxHoldAt, err)
			}
			st, err := c.nodes[0].Inspect(t.Context(), "x")
			if err != nil || st.TTL != end-clock() {
				t.Errorf("%v before its max_hold its status says %v: %v", end-clock(), st.TTL, err)
			}
			time.Sleep(12 * time.Second)
		}
		_, err := l.View()
		wantCode(t, err, session.CodeLost)
		if !strings.Contains(err.Error(), "max_hold") {
			t.Errorf("%v, want its max_hold as the reason", err)
		}
	})
}

// Nor beyond the time at which its session is over if it is not heard of again.
func TestSilenceBoundsTheDeadline(t *testing.T) {
	bubble(t, func(t *testing.T) {
		clock := fakeClock()
		c := newCluster(t, 1, session.Config{TTL: 30 * time.Second, Clock: clock}, nil)
		s := c.open(0, session.Options{Keepalive: 5 * time.Second})
		l := mustAcquire(t, s, "x", session.Acquire{})
		heard := clock()
		for range 3 {
			v, err := l.View()
			if err != nil || v.Deadline != heard+5*time.Second || v.Left < 20*time.Second {
				t.Errorf("heard of %v ago it is valid for %v, %v of the lease are left: %v", clock()-heard, v.Deadline-clock(), v.Left, err)
			}
			time.Sleep(4 * time.Second)
			s.Touch()
			heard = clock()
		}
		at := heard + 5*time.Second
		got := wait(t, c.open(0), "x", session.Acquire{Wait: time.Minute})
		within(t, 6*time.Second, got)
		if clock() < at {
			t.Errorf("another has it %v before it was over", at-clock())
		}
	})
}
