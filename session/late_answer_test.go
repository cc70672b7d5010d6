package session_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/session"
)

// separate is a store that keeps shared holds apart from the others, as Redis does,
// and so does not find one that is named in another mode.
type separate struct {
	*faulty
	mode backend.Mode
}

func (s separate) Renew(ctx context.Context, rs []backend.Renewal) ([]error, error) {
	errs, err := s.faulty.Renew(ctx, rs)
	for i := range errs {
		if rs[i].Mode != s.mode {
			errs[i] = backend.ErrNotHeld
		}
	}
	return errs, err
}

// acquireLate is the hold of a whose grant took so long that a renewal was due as it
// was told.
func acquireLate(t *testing.T, a session.Acquire, mode backend.Mode) *session.Lease {
	f := &faulty{after: delayed("acquire", 1, 1500*time.Millisecond)}
	c := newCluster(t, 1, session.Config{}, func(i int, b backend.Backend) backend.Backend {
		return separate{hooked(f)(i, b).(*faulty), mode}
	})
	a.TTL, a.Wait = 3*time.Second, time.Minute
	l := mustAcquire(t, c.open(0), "x", a)
	t.Cleanup(f.wg.Wait)
	return l
}

// Histories of real gateways have shown a permit that was given to another before its
// deadline: the first renewal was due before the turn was given, and asked for an
// exclusive hold, which the store did not have.
func TestLateGrantOfOneOfSeveral(t *testing.T) {
	for name, a := range map[string]session.Acquire{"shared": {Shared: true}, "semaphore": {Limit: 2}, "exclusive": {}} {
		mode := backend.Mode(a.Limit)
		if a.Shared {
			mode = backend.Shared
		}
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				l := acquireLate(t, a, mode)
				time.Sleep(time.Minute)
				synctest.Wait()
				if !held(l) {
					t.Errorf("lost: %v", l.Err())
				}
			})
		})
	}
}

// Nor does the watchdog make a fixed lease longer that was granted late.
func TestLateGrantOfAFixedLease(t *testing.T) {
	bubble(t, func(t *testing.T) {
		began := time.Now()
		l := acquireLate(t, session.Acquire{Fixed: true}, backend.Exclusive)
		<-l.Done()
		took := time.Since(began)
		synctest.Wait() // for the release
		if took > 3*time.Second {
			t.Errorf("a lease of 3s lasted %v", took)
		}
	})
}
