package session_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockgw/lockgw/session"
)

// One owner releases and enters again at the same time, by two requests: whichever comes first,
// what both are told is true of the hold.
func TestReleaseAndReentryAtOnce(t *testing.T) {
	begin := time.Now()
	c := newCluster(t, 1, session.Config{Clock: func() time.Duration { return time.Since(begin) + time.Hour }}, nil)
	s := c.open(0)
	for range 3000 {
		mustAcquire(t, s, "x", session.Acquire{})
		var both sync.WaitGroup
		var entered session.Grant
		var left session.Released
		both.Go(func() { entered, _ = s.Acquire(t.Context(), "x", session.Acquire{Wait: time.Minute}) })
		both.Go(func() { left, _ = s.Release(t.Context(), "x", 1, false, "") })
		both.Wait()
		v, err := entered.Lease.View()
		if err != nil || v.Count != 1 || entered.New == (left.Count == 1) {
			t.Fatalf("entered %v, %+v, %v; left %d", entered.New, v, err, left.Count)
		}
		mustRelease(t, s, "x")
	}
}

// Who asks again for a name whose lease is over gets it anew at once, though the timer that tells of
// the end is late, as after a sleep of the machine: it is not asked in vain until then.
func TestReentryBeforeTheTimer(t *testing.T) {
	var ahead, reads atomic.Int64
	begin := time.Now()
	clock := func() time.Duration {
		reads.Add(1)
		return time.Since(begin) + time.Hour + time.Duration(ahead.Load())
	}
	c := newCluster(t, 1, session.Config{Clock: clock}, nil)
	s := c.open(0)
	for range 3 {
		l := mustAcquire(t, s, "x", session.Acquire{})
		before := reads.Load()
		ahead.Add(int64(time.Minute))
		if next := mustAcquire(t, s, "x", session.Acquire{}); next == l || reads.Load()-before > 1000 {
			t.Errorf("the clock was read %d times for %v after %v", reads.Load()-before, next.Fence(), l.Fence())
		}
		mustRelease(t, s, "x")
	}
}

// A lease that nobody renews lasts for the ttl of who enters again, from then on.
func TestReentryProlongs(t *testing.T) {
	for name, tt := range map[string]struct {
		first, again session.Acquire
		left         time.Duration // 5 s later
	}{
		"the same ttl":         {session.Acquire{TTL: 10 * time.Second, Fixed: true}, session.Acquire{TTL: 10 * time.Second, Fixed: true}, 10 * time.Second},
		"a shorter one":        {session.Acquire{TTL: 20 * time.Second, Fixed: true}, session.Acquire{TTL: 18 * time.Second, Fixed: true}, 18 * time.Second},
		"one that ends before": {session.Acquire{TTL: 20 * time.Second, Fixed: true}, session.Acquire{TTL: 2 * time.Second, Fixed: true}, 15 * time.Second},
	} {
		bubble(t, func(t *testing.T) {
			s := newCluster(t, 1, session.Config{}, nil).open(0)
			mustAcquire(t, s, "x", tt.first)
			time.Sleep(5 * time.Second)
			v, err := mustAcquire(t, s, "x", tt.again).View()
			if margin := session.Margin(tt.first.TTL); err != nil || v.Left < tt.left-margin || v.Left > tt.left {
				t.Errorf("%s: %v left, %v, want %v", name, v.Left, err, tt.left)
			}
		})
	}
}
