package session_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/lockgw/lockgw/session"
)

// Of a loss nobody is told any more who has had the name again since.
func TestLossBeforeAnotherHold(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1, session.Config{}, nil)
		s := c.open(0)
		mustAcquire(t, s, "x", session.Acquire{MaxHold: time.Second})
		time.Sleep(2 * time.Second)
		_, err := s.Lease("x", 1)
		wantCode(t, err, session.CodeLost)
		mustAcquire(t, s, "x", session.Acquire{})
		mustRelease(t, s, "x")
		_, err = s.Lease("x", 1)
		wantCode(t, err, session.CodeNotOwner)
	})
}

// What a session has lost is remembered as far as it may hold, so that no client fills the memory
// with losses that it does not ask for.
func TestLossesAreBounded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1, session.Config{Limits: session.Limits{HoldsPerSession: 3}}, nil)
		s := c.open(0)
		lost := 0
		for i := range 10 {
			mustAcquire(t, s, fmt.Sprint("x", i), session.Acquire{MaxHold: time.Second})
			time.Sleep(2 * time.Second)
		}
		for i := range 10 {
			_, err := s.Lease(fmt.Sprint("x", i), 1)
			if session.CodeOf(err) == session.CodeLost {
				lost++
			}
		}
		if lost != 3 {
			t.Errorf("%d of 10 losses are remembered, want 3", lost)
		}
	})
}

// A hold that is lost just as it is granted is not among those of its session.
func TestLossAtTheGrant(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(16)) // so that the system interrupts anywhere
	begin := time.Now()
	c := newCluster(t, 1, session.Config{Clock: func() time.Duration { return time.Since(begin) + time.Hour }}, nil)
	s := c.open(0)
	for range 30000 {
		<-mustAcquire(t, s, "x", session.Acquire{MaxHold: 1}).Done()
		for i := 0; len(s.Leases()) > 0; i++ {
			if runtime.Gosched(); i > 1_000_000 {
				t.Fatal("it is over, and still among those that are held")
			}
		}
	}
}
