package session_test

import (
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend/memory"
	"github.com/lockgw/lockgw/session"
)

// What the store has not confirmed to be free is not told as released by a repeat after a restart
// either.
func TestRepeatOfAPendingReleaseAfterARestart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := begin(t, memory.NewRows(), session.Config{TTL: time.Minute})
		s, token := p.open(patient)
		mustAcquire(t, s, "x", session.Acquire{})
		p.f.set(always(errLost), nil)
		r, err := s.Release(t.Context(), "x", 1, false, "r")
		if err != nil || !r.Pending {
			t.Fatalf("release = %+v, %v, want it pending", r, err)
		}
		p.kill()
		p = p.startOver(always(errLost))
		s = p.lookup(token)
		r, err = s.Release(t.Context(), "x", 1, false, "r")
		if err != nil || !r.Pending || r.FreeBy <= 0 {
			t.Errorf("repeat = %+v, %v, want it pending", r, err)
		}
	})
}

// Nor by that of a release of all that the session held, whose names are not known any more.
func TestRepeatOfAPendingReleaseOfAllAfterARestart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := begin(t, memory.NewRows(), session.Config{TTL: time.Minute})
		s, token := p.open(patient)
		mustAcquire(t, s, "x", session.Acquire{})
		p.f.set(always(errLost), nil)
		first, err := s.ReleaseAll(t.Context(), nil, 1, "r")
		if err != nil || !first.Pending || first.FreeBy <= 0 {
			t.Fatalf("release = %+v, %v, want it pending", first, err)
		}
		p.kill()
		p = p.startOver(always(errLost))
		s = p.lookup(token)
		all, err := s.ReleaseAll(t.Context(), nil, 1, "r")
		if err != nil || !all.Pending || all.FreeBy <= 0 || all.FreeBy > first.FreeBy {
			t.Errorf("repeat = %+v, %v, want it pending", all, err)
		}
		time.Sleep(first.FreeBy)
		if all, err = s.ReleaseAll(t.Context(), nil, 1, "r"); err != nil || all.Pending {
			t.Errorf("repeat after that = %+v, %v, want it done", all, err)
		}
	})
}

// A repeat of a release that was pending is told when the store has confirmed it.
func TestRepeatOfAPendingReleaseThatIsDone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := &faulty{}
		c := newCluster(t, 1, session.Config{TTL: time.Minute}, hooked(f))
		s := c.open(0)
		mustAcquire(t, s, "x", session.Acquire{})
		mustAcquire(t, s, "y", session.Acquire{})
		f.set(always(errLost), nil)
		for range 2 {
			r, err := s.Release(t.Context(), "x", 1, false, "x")
			if err != nil || !r.Pending || r.FreeBy <= 0 {
				t.Errorf("release = %+v, %v, want it pending", r, err)
			}
			all, err := s.ReleaseAll(t.Context(), []string{"y"}, 1, "y")
			if err != nil || !all.Pending || all.FreeBy <= 0 || len(all.Released) != 1 {
				t.Errorf("release of all = %+v, %v, want it pending", all, err)
			}
		}
		f.set(nil, nil)
		time.Sleep(2 * time.Second)
		if r, err := s.Release(t.Context(), "x", 1, false, "x"); err != nil || r.Pending {
			t.Errorf("release = %+v, %v, want it done", r, err)
		}
		if all, err := s.ReleaseAll(t.Context(), []string{"y"}, 1, "y"); err != nil || all.Pending || len(all.Released) != 1 {
			t.Errorf("release of all = %+v, %v, want it done", all, err)
		}
	})
}
