package session_test

import (
	"context"
	"testing"
	"testing/synctest"

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
