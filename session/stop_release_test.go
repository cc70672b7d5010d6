package session_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgw/lockgw/backend/memory"
	"github.com/lockgw/lockgw/session"
)

// A gateway that goes away says that it has released what the store has confirmed, and of what
// it has not, that this is pending.
func TestReleaseDuringTheStop(t *testing.T) {
	for _, answer := range []error{nil, errLost} {
		bubble(t, func(t *testing.T) {
			p := begin(t, memory.NewRows(), session.Config{})
			s, _ := p.open(patient)
			mustAcquire(t, s, "x", session.Acquire{})
			silent := make(chan struct{})
			p.f.set(func(string) error { <-silent; return answer }, nil)
			told := make(chan session.Released, 1)
			go func() {
				r, err := s.Release(context.Background(), "x", 1, false, "")
				if err != nil {
					t.Error(err)
				}
				told <- r
			}()
			synctest.Wait()
			stopped := make(chan error, 1)
			go func() { stopped <- p.stop(context.Background()) }()
			synctest.Wait()
			close(silent)
			if err := <-stopped; err != nil {
				t.Error(err)
			}
			if r := <-told; r.Pending != (answer != nil) || r.Pending && r.FreeBy <= 0 {
				t.Errorf("the store answers %v: release = %+v", answer, r)
			}
		})
	}
}

// A gateway that has stopped does not know whether the store has confirmed a release since: who
// repeats it is told what was told before.
func TestReleaseRepeatedAfterTheStop(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := begin(t, memory.NewRows(), session.Config{})
		s, _ := p.open(patient)
		mustAcquire(t, s, "x", session.Acquire{})
		mustAcquire(t, s, "y", session.Acquire{})
		p.f.set(always(errLost), nil)
		release := map[string]func() (bool, time.Duration, error){
			"one": func() (bool, time.Duration, error) {
				r, err := s.Release(t.Context(), "x", 1, false, "one")
				return r.Pending, r.FreeBy, err
			},
			"several": func() (bool, time.Duration, error) {
				r, err := s.ReleaseAll(t.Context(), []string{"y"}, 1, "several")
				return r.Pending, r.FreeBy, err
			},
		}
		for _, when := range []string{"first", "repeated", "after the stop"} {
			if when == "after the stop" {
				_ = p.stop(t.Context())
			}
			for what, do := range release {
				if pending, freeBy, err := do(); err != nil || !pending || freeBy <= 0 {
					t.Errorf("release of %s, %s: pending %v, free by %v, %v; the store has not confirmed it", what, when, pending, freeBy, err)
				}
			}
		}
	})
}

// The timer of a session whose client has not come back goes off just as the gateway stops, and
// goes on when all that it would write to is closed: the next process has the session, or gives
// back what it held, and the store has nothing that nobody knows of.
func TestStopWhileASessionEnds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		clock := &jumpy{}
		p := begin(t, memory.NewRows(), session.Config{Clock: clock.now})
		s, token := p.open(session.Options{Conns: true})
		if err := s.Attach(); err != nil {
			t.Fatal(err)
		}
		mustAcquire(t, s, "x", session.Acquire{})
		p = p.restart()
		done := make(chan struct{})
		clock.when("(*Manager).remove", func() {
			defer close(done)
			if err := p.stop(t.Context()); err != nil {
				t.Error(err)
			}
			if err := p.j.Close(); err != nil {
				t.Error(err)
			}
		})
		<-done
		synctest.Wait()
		p = p.start()
		l, err := p.lookup(token).Lease("x", 1)
		if err != nil || !held(l) {
			t.Errorf("lease = %v, %v, want that which nobody has ended", l, err)
		}
		time.Sleep(time.Minute)
		mustAcquire(t, other(t, p), "x", session.Acquire{})
	})
}

// A name that is kept for its min_hold was released: a stop that gives everything back does not
// wait for its end, and the next process keeps it on.
func TestStopLeavesWhatIsKept(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := begin(t, memory.NewRows(), session.Config{})
		p.cfg.KeepHolds = false
		p = p.restart()
		s, _ := p.open(patient)
		mustAcquire(t, s, "x", session.Acquire{MinHold: time.Minute})
		mustRelease(t, s, "x")
		mustAcquire(t, s, "y", session.Acquire{MinHold: time.Minute})
		mustAcquire(t, s, "z", session.Acquire{})
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		if err := p.stop(ctx); err != nil || time.Since(began) > time.Second {
			t.Errorf("stopped after %v: %v", time.Since(began), err)
		}
		if err := p.j.Close(); err != nil {
			t.Error(err)
		}
		p = p.start()
		newcomer := other(t, p)
		mustAcquire(t, newcomer, "z", session.Acquire{})
		time.Sleep(50*time.Second - time.Since(began)) // their leases would be over
		for _, name := range []string{"x", "y"} {
			_, err := newcomer.Acquire(t.Context(), name, session.Acquire{})
			wantCode(t, err, session.CodeLocked)
		}
		time.Sleep(11 * time.Second)
		for _, name := range []string{"x", "y"} {
			mustAcquire(t, newcomer, name, session.Acquire{})
		}
	})
}
