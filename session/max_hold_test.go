package session_test

import (
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
