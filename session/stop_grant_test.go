package session_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgw/lockgw/backend/memory"
	"github.com/lockgw/lockgw/session"
)

// Who waits for several locks while the gateway stops is told that it has none, and so the next
// process must not hold some of them for it.
func TestStopWhileSeveralAreWaitedFor(t *testing.T) {
	for range 50 { // whichever is first
		bubble(t, func(t *testing.T) {
			p := begin(t, memory.NewRows(), session.Config{})
			mustAcquire(t, other(t, p), "b", session.Acquire{})
			s, token := p.open(patient)
			over := make(chan error, 1)
			go func() {
				_, err := s.AcquireAll(t.Context(), []string{"a", "b"}, session.Acquire{Wait: time.Minute})
				over <- err
			}()
			synctest.Wait()
			if err := p.stop(t.Context()); err != nil {
				t.Error(err)
			}
			wantCode(t, <-over, session.CodeDraining)
			if err := p.j.Close(); err != nil {
				t.Error(err)
			}
			p = p.start()
			_, err := p.lookup(token).Lease("a", 1)
			wantCode(t, err, session.CodeNotOwner)
		})
	}
}

// So it is with one who is granted a lock at that moment, of which it cannot be told any more.
func TestStopWhileALockIsGranted(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h, clock := &atStep{}, new(jumpy)
		p := begin(t, memory.NewRows(), session.Config{History: h, Clock: clock.now})
		s, token := p.open(patient)
		h.do = func() {
			stopped := make(chan error, 1)
			go func() { stopped <- p.stop(context.Background()) }()
			<-s.Done()
			clock.when("(*Session).touchLocked", func() { // as the acquire ends
				if err := <-stopped; err != nil {
					t.Error(err)
				}
			})
		}
		_, err := s.Acquire(t.Context(), "a", session.Acquire{})
		wantCode(t, err, session.CodeDraining)
		if err := p.j.Close(); err != nil {
			t.Error(err)
		}
		p = p.start()
		_, err = p.lookup(token).Lease("a", 1)
		wantCode(t, err, session.CodeNotOwner)
		mustAcquire(t, other(t, p), "a", session.Acquire{Wait: time.Second})
	})
}

// Nor of what a front was given and could not tell.
func TestStopBeforeAGrantIsTold(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := begin(t, memory.NewRows(), session.Config{})
		s, token := p.open(patient)
		first := grant(t, s, "a")
		mustAcquire(t, s, "b", session.Acquire{})
		again := grant(t, s, "b")
		if err := p.stop(t.Context()); err != nil {
			t.Error(err)
		}
		_, err := first.Lease.View()
		wantCode(t, err, session.CodeDraining)
		s.GiveBack(t.Context(), []session.Grant{first, again})
		if err := p.j.Close(); err != nil {
			t.Error(err)
		}
		s = p.start().lookup(token)
		_, err = s.Lease("a", 1)
		wantCode(t, err, session.CodeNotOwner)
		mustRelease(t, s, "b")
		_, err = s.Lease("b", 1)
		wantCode(t, err, session.CodeNotOwner)
	})
}

func grant(t *testing.T, s *session.Session, name string) session.Grant {
	t.Helper()
	g, err := s.Acquire(t.Context(), name, session.Acquire{})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// Who breaks a hold while it is left to the next process, or then, is not told that the name is free,
// or another's.
func TestStopWhileAHoldIsBroken(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := begin(t, memory.NewRows(), session.Config{})
		s, token := p.open(patient)
		l := mustAcquire(t, s, "a", session.Acquire{})
		if err := p.stop(t.Context()); err != nil {
			t.Error(err)
		}
		wantCode(t, l.BreakSeen(t.Context()), session.CodeDraining)
		wantCode(t, p.Break(t.Context(), "a", l.Fence(), "", "a test"), session.CodeDraining)
		if err := p.j.Close(); err != nil {
			t.Error(err)
		}
		p = p.start()
		l, err := p.lookup(token).Lease("a", 1)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Break(t.Context(), "a", l.Fence(), "", "a test"); err != nil {
			t.Error(err)
		}
	})
}

// Nor is who breaks what is only kept for its min_hold.
func TestStopWhileAKeptNameIsBroken(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := begin(t, memory.NewRows(), session.Config{})
		s, _ := p.open(patient)
		l := mustAcquire(t, s, "a", session.Acquire{MinHold: time.Minute})
		mustRelease(t, s, "a")
		if err := p.stop(t.Context()); err != nil {
			t.Error(err)
		}
		wantCode(t, l.BreakSeen(t.Context()), session.CodeDraining)
		if err := p.j.Close(); err != nil {
			t.Error(err)
		}
		p = p.start()
		_, err := other(t, p).Acquire(t.Context(), "a", session.Acquire{})
		wantCode(t, err, session.CodeLocked)
	})
}
