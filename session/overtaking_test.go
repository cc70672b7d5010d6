package session_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgw/lockgw/session"
)

// delayed makes the n-th request of verb (from 1, 0: each) take d.
func delayed(verb string, n int32, d time.Duration) func(string) error {
	var seen atomic.Int32
	return func(v string) error {
		if v == verb && (n == 0 || seen.Add(1) == n) {
			time.Sleep(d)
		}
		return nil
	}
}

// The reservation of the next block, under way during a re-entry, does not set
// the count back.
func TestExtendLeavesTheCount(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := &faulty{before: delayed("write", 1, 5*time.Millisecond)}
		c := newCluster(t, 1, session.Config{Fairness: session.Fairness{MaxTurns: 1}}, hooked(f))
		s := c.open(0)
		mustAcquire(t, s, "x", session.Acquire{})
		wait(t, c.open(0), "x", session.Acquire{Wait: time.Minute})
		mustAcquire(t, s, "x", session.Acquire{})
		time.Sleep(time.Second)
		if n := c.entries("x"); n != 2 {
			t.Errorf("count in the store = %d, want 2", n)
		}
	})
}

// Nor does the description of the turn, if it arrives after that of a re-entry.
func TestLateDescriptionLeavesTheCount(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := &faulty{before: delayed("write", 1, 5*time.Millisecond)}
		c := newCluster(t, 1, session.Config{}, hooked(f))
		a, b := c.open(0), c.open(0)
		mustAcquire(t, a, "x", session.Acquire{})
		got := wait(t, b, "x", session.Acquire{Wait: time.Minute})
		mustRelease(t, a, "x")
		within(t, 0, got)
		time.Sleep(101 * time.Millisecond) // the description is under way
		mustAcquire(t, b, "x", session.Acquire{})
		time.Sleep(time.Second)
		if n := c.entries("x"); n != 2 {
			t.Errorf("count in the store = %d, want 2", n)
		}
	})
}

// A message that another node waits overtakes the answer "granted".
func TestOthersOvertakeAnswer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 2, session.Config{}, hooked(&faulty{after: delayed("acquire", 1, 5*time.Millisecond)}))
		var wg sync.WaitGroup
		for range 3 {
			s := c.open(0)
			wg.Go(func() {
				for {
					if _, err := s.Acquire(context.Background(), "x", session.Acquire{Wait: time.Minute}); err != nil {
						return // drained
					}
					time.Sleep(500 * time.Millisecond)
					_, _ = s.Release(context.Background(), "x", 1, false, "")
				}
			})
		}
		synctest.Wait()
		within(t, 600*time.Millisecond, wait(t, c.open(1), "x", session.Acquire{Wait: time.Minute}))
		c.nodes[0].Drain()
		c.nodes[1].Close(t.Context())
		wg.Wait()
	})
}

// A store that stops answering while a turn's owner is written gets the caller an
// answer in time.
func TestSettleWithoutAnswer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := &faulty{}
		c := newCluster(t, 1, session.Config{Fairness: session.Fairness{ExactOwner: true}}, hooked(f))
		a, b := c.open(0), c.open(0)
		mustAcquire(t, a, "x", session.Acquire{})
		failed := make(chan error, 1)
		go func() {
			_, err := b.Acquire(context.Background(), "x", session.Acquire{Wait: time.Second})
			failed <- err
		}()
		synctest.Wait()
		f.set(always(errLost), nil)
		began := time.Now()
		mustRelease(t, a, "x")
		wantCode(t, <-failed, session.CodeOutcomeUnknown)
		if d := time.Since(began); d > 3*time.Second {
			t.Errorf("answered after %v, want 3 s at most", d)
		}
		f.set(nil, nil)
		time.Sleep(2 * time.Second)
		mustAcquire(t, c.open(0), "x", session.Acquire{})
	})
}

// The first sending of an acquire arrives when the hold that the second got is
// over: it leaves nothing behind.
func TestLateAcquireLeavesNoHold(t *testing.T) {
	bubble(t, func(t *testing.T) {
		late := make(chan struct{})
		var n atomic.Int32
		f := &faulty{}
		f.before = func(verb string) error {
			switch {
			case verb == "acquire" && n.Add(1) == 1:
				<-late // its sender gives up after 2 s
			case verb == "renew":
				return errLost
			}
			return nil
		}
		c := newCluster(t, 2, session.Config{TTL: 2 * time.Second}, hooked(f))
		l := mustAcquire(t, c.open(0), "x", session.Acquire{Wait: time.Minute})
		f.set(always(errLost, "renew", "release"), nil)
		<-l.Done()
		time.Sleep(100 * time.Millisecond) // it is over in the store, too
		close(late)
		synctest.Wait()
		f.set(nil, nil)
		time.Sleep(1100 * time.Millisecond) // the release is repeated, less than a lease later
		mustAcquire(t, c.open(1), "x", session.Acquire{})
	})
}
