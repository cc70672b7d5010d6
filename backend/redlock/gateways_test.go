package redlock_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/redis/redistest"
	"github.com/lockgw/lockgw/session"
)

// gateways starts n gateways' cores over the servers at url.
func gateways(t *testing.T, url string, n int, cfg session.Config) (all []*session.Manager) {
	t.Helper()
	for i := range n {
		cfg.Node = fmt.Sprint("n", i)
		m := session.New(openTable(t, url, cfg.Node), cfg)
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			_ = m.Close(ctx)
		})
		for began := time.Now(); m.Ping(t.Context()) != nil; time.Sleep(5 * time.Millisecond) {
			if time.Since(began) > time.Minute {
				t.Fatalf("not ready: %v", m.Ping(t.Context()))
			}
		}
		all = append(all, m)
	}
	return all
}

func client(t *testing.T, m *session.Manager) *session.Session {
	t.Helper()
	s, _, err := m.Open(session.Options{Peer: session.NoPeer()})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A release wakes who waits at another gateway by a message: the lease is much longer
// than the test waits.
func TestWakeUp(t *testing.T) {
	t.Parallel()
	_, url := servers(t, 3)
	ms := gateways(t, url, 2, session.Config{TTL: 50 * time.Second})
	holder, waiter := client(t, ms[0]), client(t, ms[1])
	if _, err := holder.Acquire(t.Context(), "x", session.Acquire{}); err != nil {
		t.Fatal(err)
	}
	got := make(chan error, 1)
	go func() {
		_, err := waiter.Acquire(t.Context(), "x", session.Acquire{Wait: time.Minute})
		got <- err
	}()
	redistest.Await(t, "the other gateway is in the queue", func() bool {
		st, err := ms[0].Inspect(t.Context(), "x")
		return err == nil && st.Waiters == 1
	})
	began := time.Now()
	if _, err := holder.Release(t.Context(), "x", 1, false, ""); err != nil {
		t.Fatal(err)
	}
	if err := <-got; err != nil {
		t.Fatal(err)
	}
	if d := time.Since(began); d > 16*time.Second {
		t.Errorf("served after %v, want long before the lease of 50 s ends", d)
	}
}

// With strict order those who wait are served in the order in which they came, whichever
// their gateways are. A gateway knows the servers' clocks no better than by how long their
// answers took, so that callers who came closer together than that have no order.
func TestStrict(t *testing.T) {
	t.Parallel()
	_, url := servers(t, 3)
	ms := gateways(t, url, 3, session.Config{Fairness: session.Fairness{Strict: true}})
	holder := client(t, ms[0])
	if _, err := holder.Acquire(t.Context(), "x", session.Acquire{}); err != nil {
		t.Fatal(err)
	}
	watcher := openTable(t, url, "watcher")
	var mu sync.Mutex
	var order []int // guarded by mu
	var wg sync.WaitGroup
	var came [12]time.Time
	longest := time.Duration(0) // until somebody who had come was in the queue
	for i := range came {
		at, other := i*i%3, ms[(i*i+1)%3] // two in a row at one, now and then
		c := client(t, ms[at])
		came[i] = time.Now()
		wg.Go(func() {
			if _, err := c.Acquire(t.Context(), "x", session.Acquire{Wait: time.Minute}); err != nil {
				t.Errorf("%d: %v", i, err)
				return
			}
			mu.Lock()
			order = append(order, i)
			mu.Unlock()
			if _, err := c.Release(t.Context(), "x", 1, false, ""); err != nil {
				t.Errorf("%d: %v", i, err)
			}
		})
		redistest.Await(t, "the servers and another gateway see the caller in the queue", func() bool {
			st, err := other.Inspect(t.Context(), "x")
			r, failed := watcher.Look(t.Context(), "x")
			queued := failed == nil && r.Record.Entry(fmt.Sprint("n", at)) != nil
			return err == nil && st.Waiters == i+1 && (at == 0 || queued) // the node that holds the name has no place in the queue
		})
		longest = max(longest, time.Since(came[i]))
		time.Sleep(longest)
	}
	if _, err := holder.Release(t.Context(), "x", 1, false, ""); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	if len(order) != len(came) {
		t.Errorf("served are %v", order)
	}
	for n, later := range order {
		for _, earlier := range order[n+1:] {
			if apart := came[later].Sub(came[earlier]); apart > longest {
				t.Errorf("served in the order %v, but %d came %v after %d; no request took longer than %v", order, later, apart, earlier, longest)
			}
		}
	}
}

// Callers of two gateways take turns while one server after another hangs for a while,
// and one comes back empty: never two hold the name, and fences rise.
func TestExclusion(t *testing.T) {
	t.Parallel()
	all, url := servers(t, 5)
	ms := gateways(t, url, 2, session.Config{TTL: 10 * time.Second})
	ctx, stop := context.WithCancel(t.Context())
	var (
		inside sync.Mutex    // is tried by who holds the name: nobody else may have it
		last   backend.Fence // guarded by inside
		grants atomic.Int64
		wg     sync.WaitGroup
	)
	for i := range 6 {
		c := client(t, ms[i%2])
		wg.Go(func() {
			for ctx.Err() == nil {
				g, err := c.Acquire(ctx, "x", session.Acquire{Wait: 5 * time.Second})
				if err != nil {
					continue // without an answer of most servers there is no turn
				}
				if !inside.TryLock() {
					t.Error("two hold the name at once")
					return
				}
				if f := g.Lease.Fence(); f <= last {
					t.Errorf("fence %d after %d", f, last)
				}
				last = g.Lease.Fence()
				grants.Add(1)
				time.Sleep(2 * time.Millisecond)
				inside.Unlock()
				_, _ = c.Release(context.Background(), "x", 1, false, "") // or it is over with its lease
			}
		})
	}
	defer wg.Wait()
	defer stop()
	granted := func(when string) {
		t.Helper()
		enough := grants.Load() + 20
		redistest.Await(t, "the name is granted again and again "+when, func() bool { return grants.Load() > enough })
	}
	granted("by all")
	for _, s := range all[:2] {
		s.Pause()
		time.Sleep(700 * time.Millisecond)
		s.Resume()
		time.Sleep(300 * time.Millisecond)
	}
	all[2].RestartEmpty()
	granted("when a server has come back empty")
}
