package session_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgw/lockgw/session"
)

// atStep does something once, when a caller is granted, with the name locked.
type atStep struct{ do func() }

func (h *atStep) Record(s session.Step) {
	if do := h.do; do != nil && s.Kind == session.StepGranted {
		h.do = nil
		do()
	}
}

// A session that ends just as it is granted a name was told of nothing.
func TestMinHoldOfAnEndedSession(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := &atStep{}
		c := newCluster(t, 1, session.Config{History: h}, nil)
		s := c.open(0)
		h.do = func() {
			go s.End(t.Context(), "a test")
			<-s.Done()
		}
		_, err := s.Acquire(t.Context(), "x", session.Acquire{MinHold: time.Minute})
		wantCode(t, err, session.CodeSessionEnded)
		mustAcquire(t, c.open(0), "x", session.Acquire{})
	})
}

// Nor was one that ends while it waits for the second of two.
func TestMinHoldOfAnEndedMultilock(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1, session.Config{}, nil)
		mustAcquire(t, c.open(0), "y", session.Acquire{})
		s := c.open(0)
		over := make(chan error, 1)
		go func() {
			_, err := s.AcquireAll(t.Context(), []string{"x", "y"}, session.Acquire{MinHold: time.Minute, Wait: time.Minute})
			over <- err
		}()
		synctest.Wait()
		s.End(t.Context(), "a test")
		if err := <-over; err == nil {
			t.Error("granted, though the session has ended")
		}
		mustAcquire(t, c.open(0), "x", session.Acquire{})
	})
}

// A client that dies after the grant and before it is told ends its session first: no min_hold keeps
// the name, unless another request of the session has entered, too.
func TestMinHoldOfAClientThatDiesUntold(t *testing.T) {
	for _, entered := range []bool{false, true} {
		bubble(t, func(t *testing.T) {
			c := newCluster(t, 1, session.Config{}, nil)
			dies := make(chan struct{})
			s := c.open(0, session.Options{Peer: session.NoPeer(), Alive: func(context.Context) error { <-dies; return nil }})
			a := session.Acquire{MinHold: time.Minute}
			g, err := s.Acquire(t.Context(), "x", a)
			if err != nil {
				t.Fatal(err)
			}
			if entered {
				mustAcquire(t, s, "x", a)
			}
			close(dies)
			<-s.Done()
			synctest.Wait()
			s.GiveBack(t.Context(), []session.Grant{g})
			_, err = c.open(0).Acquire(t.Context(), "x", session.Acquire{})
			if (err != nil) != entered {
				t.Errorf("entered by another request: %v, and then an acquire: %v", entered, err)
			}
		})
	}
}

// What was told is kept.
func TestMinHoldOfAMultilock(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1, session.Config{}, nil)
		s := c.open(0)
		if _, err := s.AcquireAll(t.Context(), []string{"x", "y"}, session.Acquire{MinHold: 10 * time.Second}); err != nil {
			t.Fatal(err)
		}
		s.End(t.Context(), "a test")
		for _, name := range []string{"x", "y"} {
			_, err := c.open(0).Acquire(t.Context(), name, session.Acquire{})
			wantCode(t, err, session.CodeLocked)
		}
	})
}
