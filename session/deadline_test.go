package session_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/session"
)

// A deadline counts from before the request was sent, however late the answer.
func TestDeadlineCountsFromSending(t *testing.T) {
	bubble(t, func(t *testing.T) {
		late := func(verb string) error {
			if verb == "acquire" || verb == "renew" {
				time.Sleep(900 * time.Millisecond)
			}
			return nil
		}
		c := newCluster(t, 1, session.Config{TTL: 6 * time.Second}, hooked(&faulty{after: late}))
		l := mustAcquire(t, c.open(0), "x", session.Acquire{})
		if v, _ := l.View(); v.Left > 5100*time.Millisecond {
			t.Errorf("left = %v after an answer that took 900 ms, want 5.04 s", v.Left)
		}
		time.Sleep(2100*time.Millisecond - time.Nanosecond) // the renewal was sent before 2 s, its answer is just there
		synctest.Wait()
		if v, _ := l.View(); v.Left > 5200*time.Millisecond || v.Left < 4700*time.Millisecond {
			t.Errorf("left = %v after a renewal that took 900 ms, want about 4.8 s", v.Left)
		}
	})
}

// A machine that slept past the deadline holds nothing when it wakes up, before
// any timer has run.
func TestSleepPastTheDeadline(t *testing.T) {
	bubble(t, func(t *testing.T) {
		clock := &jumpy{}
		c := newCluster(t, 1, session.Config{Clock: clock.now}, nil)
		s := c.open(0)
		l := mustAcquire(t, s, "x", session.Acquire{})
		clock.jump(29 * time.Second)
		if !held(l) {
			t.Error("lost before the deadline")
		}
		clock.jump(time.Second)
		_, err := l.View()
		wantCode(t, err, session.CodeLost)
		_, err = s.Release(t.Context(), "x", 1, false, "")
		wantCode(t, err, session.CodeLost)
	})
}

// A grant whose deadline passes just before it is told is not told.
func TestSleepBeforeTheTelling(t *testing.T) {
	bubble(t, func(t *testing.T) {
		clock := &jumpy{}
		c := newCluster(t, 1, session.Config{Clock: clock.now}, nil)
		clock.when("(*Lease).tell", func() { clock.jump(time.Minute) })
		l := mustAcquire(t, c.open(0), "x", session.Acquire{Wait: time.Minute})
		if _, err := l.View(); err != nil {
			t.Errorf("told of a hold that was lost: %v", err)
		}
	})
}

// A renewal that was sent in time and answered after the deadline revives nothing.
func TestLateRenewalDoesNotRevive(t *testing.T) {
	bubble(t, func(t *testing.T) {
		clock := &jumpy{}
		f := &faulty{}
		c := newCluster(t, 1, session.Config{TTL: 6 * time.Second, Clock: clock.now}, hooked(f))
		l := mustAcquire(t, c.open(0), "x", session.Acquire{})
		f.set(nil, func(verb string) error {
			if verb == "renew" {
				clock.jump(4500 * time.Millisecond) // past the deadline, but not past the renewed one
			}
			return nil
		})
		time.Sleep(2 * time.Second)
		synctest.Wait()
		wantCode(t, l.Err(), session.CodeLost)
		select {
		case <-l.Done():
		default:
			t.Error("not told of the loss")
		}
	})
}

// A store that never answers does not stop the clock.
func TestHungRenewalLosesInTime(t *testing.T) {
	bubble(t, func(t *testing.T) {
		stop := make(chan struct{})
		defer close(stop)
		hang := func(verb string) error {
			if verb == "renew" {
				<-stop
			}
			return nil
		}
		c := newCluster(t, 1, session.Config{}, hooked(&faulty{before: hang}))
		sub := c.nodes[0].Subscribe(10, func(session.Event) bool { return true })
		defer sub.Close()
		l := mustAcquire(t, c.open(0), "x", session.Acquire{})
		began := time.Now()
		<-l.Done()
		if d := time.Since(began); d > 30*time.Second || d < 29*time.Second {
			t.Errorf("lost after %v, want 29.7 s", d)
		}
		want := []session.EventType{session.EventAcquired, session.EventJeopardy, session.EventLost}
		for _, w := range want {
			if e := <-sub.C; e.Type != w {
				t.Fatalf("event %s, want %s", e.Type, w)
			}
		}
	})
}

// One failure of a renewal is no loss: it is repeated while the lease runs.
func TestRenewalIsRepeated(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var n atomic.Int32
		fail := func(verb string) error {
			if verb == "renew" && n.Add(1)%3 != 0 {
				return errLost
			}
			return nil
		}
		c := newCluster(t, 1, session.Config{TTL: 3 * time.Second}, hooked(&faulty{before: fail}))
		l := mustAcquire(t, c.open(0), "x", session.Acquire{})
		time.Sleep(time.Minute)
		synctest.Wait()
		if !held(l) {
			t.Errorf("lost: %v", l.Err())
		}
	})
}

// A lease that is fixed ends when it said, and tells so.
func TestFixedLease(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1, session.Config{}, nil)
		s := c.open(0)
		l := mustAcquire(t, s, "x", session.Acquire{TTL: 2 * time.Second, Fixed: true})
		time.Sleep(1900 * time.Millisecond)
		if !held(l) {
			t.Fatalf("lost too early: %v", l.Err())
		}
		if _, err := s.Renew(t.Context(), "x", 1, 5*time.Second); err != nil {
			t.Fatalf("renew: %v", err)
		}
		time.Sleep(4 * time.Second)
		if !held(l) {
			t.Errorf("lost in spite of a renewal: %v", l.Err())
		}
		time.Sleep(time.Second)
		synctest.Wait()
		wantCode(t, l.Err(), session.CodeLost)
		_, err := s.Renew(t.Context(), "x", 1, 0)
		wantCode(t, err, session.CodeLost)
		mustAcquire(t, c.open(0), "x", session.Acquire{})
	})
}

// What the store has forgotten is lost at the next renewal, and told once.
func TestStoreForgets(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1, session.Config{TTL: 3 * time.Second}, func(_ int, b ledger.Table) ledger.Table { return &forgetful{Table: b} })
		sub := c.nodes[0].Subscribe(10, func(e session.Event) bool { return e.Type == session.EventLost })
		defer sub.Close()
		l := mustAcquire(t, c.open(0), "x", session.Acquire{})
		<-l.Done()
		if e := <-sub.C; e.Reason != "gone" || e.Fence != l.Fence() {
			t.Errorf("event = %+v, want lost, gone", e)
		}
		time.Sleep(time.Minute)
		select {
		case e := <-sub.C:
			t.Errorf("told twice: %+v", e)
		default:
		}
	})
}

// The renewal of an unreachable store says how long the hold still stands.
func TestRenewWithoutStore(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := &faulty{}
		c := newCluster(t, 1, session.Config{}, hooked(f))
		s := c.open(0)
		mustAcquire(t, s, "x", session.Acquire{})
		f.set(always(errLost), nil)
		_, err := s.Renew(t.Context(), "x", 1, 0)
		var e *session.Error
		if !errors.As(err, &e) || e.Code != session.CodeUnavailable || e.Left < 29*time.Second {
			t.Errorf("err = %+v, want unavailable with the time left", err)
		}
		f.set(nil, nil)
		if _, err := s.Renew(t.Context(), "x", 1, 0); err != nil {
			t.Errorf("renew: %v", err)
		}
	})
}
