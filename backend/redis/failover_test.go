package redis_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend/redis/redistest"
	"github.com/lockgw/lockgw/session"
)

// contest is callers of several gateways that take a lock in turns, and look whether
// they are alone with it and their fences rise.
type contest struct {
	name   string
	inside atomic.Int32
	grants atomic.Int32
	newest atomic.Uint64
	failed atomic.Pointer[error] // why the last turn did not come
}

// take is one turn. Without an answer from the store there is none; the next may do.
func (c *contest) take(t *testing.T, s *session.Session) {
	ctx := context.Background()
	g, err := s.Acquire(ctx, c.name, session.Acquire{Wait: 5 * time.Second})
	if err != nil {
		c.failed.Store(&err)
		return
	}
	if n := c.inside.Add(1); n != 1 {
		t.Errorf("%s: %d hold it at once", c.name, n)
	}
	fence := uint64(g.Lease.Fence())
	if before := c.newest.Swap(fence); fence <= before {
		t.Errorf("%s: fence %d after %d", c.name, fence, before)
	}
	c.grants.Add(1)
	time.Sleep(2 * time.Millisecond)
	c.inside.Add(-1)
	_, _ = s.Release(ctx, c.name, 1, false, "") // or it is over with its lease
}

// contests has callers of two gateways take names in turns while disturb is at work,
// and until each name was granted some times after it.
func contests(t *testing.T, url string, names []string, disturb func()) {
	ms := gatewaysAt(t, url, 2, session.Config{TTL: 10 * time.Second, Fairness: session.Fairness{MaxTurns: 3}})
	var all []*contest
	var wg sync.WaitGroup
	var stop atomic.Bool
	for _, name := range names {
		c := &contest{name: name}
		all = append(all, c)
		for i := range 4 {
			s := client(t, ms[i%len(ms)])
			wg.Go(func() {
				for !stop.Load() {
					c.take(t, s)
				}
			})
		}
	}
	defer wg.Wait()
	defer stop.Store(true)
	defer func() {
		for _, c := range all {
			if err := c.failed.Load(); err != nil && t.Failed() {
				t.Logf("%s: %d grants; the last try without one: %v", c.name, c.grants.Load(), *err)
			}
		}
	}()
	granted := func(what string) {
		for _, c := range all {
			more := c.grants.Load() + 20
			within(t, c.name+" is granted "+what, func() bool { return c.grants.Load() > more })
		}
	}
	granted("before the trouble")
	disturb()
	granted("after the trouble")
}

func TestSentinelFailoverUnderLoad(t *testing.T) {
	t.Parallel()
	w := redistest.StartWatched(t, 1)
	contests(t, w.URL(), []string{"x", "y"}, func() {
		redistest.Stop(t, w.Master, w.Replica)
		w.AwaitMaster(w.Replica)
	})
}

func TestClusterUnderLoad(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, 1)
	defer c.TellIfFailed()
	names := namesOn(t, c)
	contests(t, c.URL(), names, func() {
		for range 3 { // there and back, and there again
			for i, name := range names[1:] {
				from, to := c.Owner(name), c.Masters[1+i]
				if from == to {
					to = c.Masters[2-i]
				}
				c.Move(name, from, to)
			}
		}
		redistest.Stop(t, c.Masters[0], c.Replicas[0])
	})
	if owner := c.Owner(names[0]); owner != c.Replicas[0] {
		t.Errorf("%s is at %s, want the replica of the master that was killed", names[0], owner.Addr)
	}
}

// namesOn finds a name for each master.
func namesOn(t *testing.T, c *redistest.Cluster) []string {
	t.Helper()
	names := make([]string, len(c.Masters))
	for found, k := 0, 'a'; found < len(names); k++ {
		if i := indexOf(c, c.Owner(string(k))); names[i] == "" {
			names[i] = string(k)
			found++
		}
	}
	return names
}
