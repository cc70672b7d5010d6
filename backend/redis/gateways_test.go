package redis_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/redis"
	"github.com/lockgw/lockgw/backend/redis/redistest"
	"github.com/lockgw/lockgw/backend/redis/servers"
	"github.com/lockgw/lockgw/session"
)

// gateways starts n gateways' cores on s.
func gateways(t *testing.T, s *redistest.Server, n int, cfg session.Config) []*session.Manager {
	t.Helper()
	return gatewaysAt(t, s.URL(), n, cfg)
}

func gatewaysAt(t *testing.T, url string, n int, cfg session.Config) []*session.Manager {
	t.Helper()
	var out []*session.Manager
	for i := range n {
		cfg.Node = fmt.Sprintf("node-%d", i)
		m := session.New(openTable(t, url, fmt.Sprintf("n%d", i), redis.GuardQuarantine), cfg)
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			if err := m.Close(ctx); err != nil {
				t.Errorf("close: %v", err)
			}
		})
		within(t, "the gateway is ready", func() bool { return m.Ping(t.Context()) == nil })
		out = append(out, m)
	}
	return out
}

func client(t *testing.T, m *session.Manager) *session.Session {
	t.Helper()
	s, _, err := m.Open(session.Options{Peer: session.NoPeer()})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Callers of two and three gateways take turns at a counter that lives in Redis
// and is read and written in two steps: none is lost, and fences rise.
func TestCounterOverGateways(t *testing.T) {
	for _, tc := range []struct {
		nodes int
		f     session.Fairness
	}{{2, session.Fairness{}}, {3, session.Fairness{MaxTurns: 4}}, {3, session.Fairness{Strict: true}}, {2, session.Fairness{ExactOwner: true}}} {
		t.Run(fmt.Sprintf("%d nodes %+v", tc.nodes, tc.f), func(t *testing.T) {
			s := redistest.Start(t)
			rdb := s.Client()
			ms := gateways(t, s, tc.nodes, session.Config{Fairness: tc.f})
			const callers, rounds = 30, 40
			var last backend.Fence // guarded by the lock under test
			var wg sync.WaitGroup
			for i := range callers {
				c := client(t, ms[i%tc.nodes])
				wg.Go(func() {
					for range rounds {
						g, err := c.Acquire(context.Background(), "counter", session.Acquire{Wait: time.Minute})
						if err != nil {
							t.Errorf("acquire: %v", err)
							return
						}
						if f := g.Lease.Fence(); f <= last {
							t.Errorf("fence %d after %d", f, last)
						} else {
							last = f
						}
						n, _ := rdb.Get(context.Background(), "n").Int()
						rdb.Set(context.Background(), "n", n+1, 0)
						if _, err := c.Release(context.Background(), "counter", 1, false, ""); err != nil {
							t.Errorf("release: %v", err)
						}
					}
				})
			}
			wg.Wait()
			if n, _ := rdb.Get(t.Context(), "n").Int(); n != callers*rounds {
				t.Errorf("counter = %d, want %d", n, callers*rounds)
			}
		})
	}
}

// While callers of two other gateways and of this one wait, Redis is asked
// nothing on their behalf: what it sees are renewals, probes and at most one
// question for each lease, name and node.
func TestWaitersCostNothing(t *testing.T) {
	s := redistest.Start(t)
	ms := gateways(t, s, 3, session.Config{TTL: 3 * time.Second})
	holder := client(t, ms[0])
	if _, err := holder.Acquire(t.Context(), "x", session.Acquire{}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for i := range 300 {
		c := client(t, ms[i%3])
		wg.Go(func() { _, _ = c.Acquire(ctx, "x", session.Acquire{Wait: 2 * time.Minute}) })
	}
	defer wg.Wait()
	defer cancel()
	eye := openNode(t, s.URL(), "eye", redis.GuardNone)
	within(t, "all wait", func() bool {
		r := eye.look("x")
		return r.Record.Entry("n1") != nil && r.Record.Entry("n2") != nil && ms[0].Stats().Waiters+ms[1].Stats().Waiters+ms[2].Stats().Waiters == 300
	})
	_ = eye.Close()
	time.Sleep(500 * time.Millisecond) // what they have said last is through
	before, began := s.CommandStats(t), time.Now()
	time.Sleep(9 * time.Second)
	after, watched := s.CommandStats(t), time.Since(began)
	scripts := after["evalsha"] + after["eval"] - before["evalsha"] - before["eval"]
	// A renewal each second and a few more for their jitter, two nodes that ask once a lease.
	if limit := int64(watched/time.Second) + 3 + 2*(int64(watched/(3*time.Second))+1); scripts > limit {
		t.Errorf("%d scripts in %v with 300 waiters, want at most %d", scripts, watched, limit)
	}
	probes := after["publish"] - before["publish"]
	if limit := 3 * (int64(watched/servers.ProbePeriod) + 2); probes > limit {
		t.Errorf("%d messages in %v, want at most %d probes", probes, watched, limit)
	}
	if polls := after["get"] - before["get"]; polls > 3*scripts {
		t.Errorf("%d GET, more than the scripts explain", polls)
	}
}

// One node serves first in, first out; nodes are served in turn.
func TestOrder(t *testing.T) {
	s := redistest.Start(t)
	ms := gateways(t, s, 3, session.Config{Fairness: session.Fairness{MaxTurns: 5, MaxTurnTime: time.Hour}})
	first := client(t, ms[0])
	if _, err := first.Acquire(t.Context(), "x", session.Acquire{}); err != nil {
		t.Fatal(err)
	}
	type turn struct{ node, i int }
	var mu sync.Mutex
	var order []turn
	var wg sync.WaitGroup
	const n = 40
	for i := range n {
		for node, m := range ms {
			c := client(t, m)
			wg.Go(func() {
				if _, err := c.Acquire(context.Background(), "x", session.Acquire{Wait: time.Minute}); err != nil {
					t.Errorf("acquire: %v", err)
				}
				mu.Lock()
				order = append(order, turn{node, i})
				mu.Unlock()
				if _, err := c.Release(context.Background(), "x", 1, false, ""); err != nil {
					t.Errorf("release: %v", err)
				}
			})
			within(t, "the caller stands in the queue", func() bool { return m.Stats().Waiters == i+1 })
		}
	}
	if _, err := first.Release(t.Context(), "x", 1, false, ""); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	var next [3]int
	var runs []int
	for k, x := range order {
		if x.i != next[x.node] {
			t.Fatalf("node %d served caller %d, want %d", x.node, x.i, next[x.node])
		}
		next[x.node]++
		if k == 0 || order[k-1].node != x.node {
			runs = append(runs, x.node)
		}
	}
	for k := range len(runs) - 3 {
		if slices.Contains(runs[k+1:k+3], runs[k]) || runs[k+3] != runs[k] {
			t.Fatalf("nodes served %v, want them in turn", runs)
		}
	}
}

// A waiter behind a Redisson program gets the lock as soon as that one releases.
func TestWaitForRedisson(t *testing.T) {
	s := redistest.Start(t)
	rdb, ctx := s.Client(), t.Context()
	ms := gateways(t, s, 2, session.Config{})
	rdb.HSet(ctx, "x", "7c8a1f3e-1111-4222-8333-444455556666:52", 1)
	rdb.PExpire(ctx, "x", 30*time.Second)
	got := make(chan error, 2)
	for _, m := range ms {
		c := client(t, m)
		go func() {
			_, err := c.Acquire(ctx, "x", session.Acquire{Wait: time.Minute})
			got <- err
			_, _ = c.Release(ctx, "x", 1, false, "")
		}()
	}
	const channel = "redisson_lock__channel:{x}"
	within(t, "both listen", func() bool { return rdb.PubSubNumSub(ctx, channel).Val()[channel] == 2 })
	began := time.Now()
	rdb.Del(ctx, "x")
	rdb.Publish(ctx, channel, "0")
	for range ms {
		if err := <-got; err != nil {
			t.Errorf("acquire: %v", err)
		}
	}
	if d := time.Since(began); d > 10*time.Second {
		t.Errorf("both served after %v, want long before its lease of 30 s would have ended", d)
	}
}

// A gateway that dies while it stands first in the queue is passed over at once: without the
// second that an offer to it would last. A busy machine may need as long, but not every time.
func TestDeadGatewayIsPassedOver(t *testing.T) {
	s := redistest.Start(t)
	ms := gateways(t, s, 2, session.Config{})
	eye := openNode(t, s.URL(), "eye", redis.GuardNone)
	var took time.Duration
	for try := range 10 {
		if took = deadFirst(t, s, ms, eye, fmt.Sprint("x", try)); took < 900*time.Millisecond {
			return
		}
	}
	t.Errorf("served after %v, want at once", took)
}

// deadFirst is how long the second gateway waits for a name that the first lets go, while
// one that is gone stands before it.
func deadFirst(t *testing.T, s *redistest.Server, ms []*session.Manager, eye *node, name string) time.Duration {
	t.Helper()
	holder := client(t, ms[0])
	if _, err := holder.Acquire(t.Context(), name, session.Acquire{}); err != nil {
		t.Fatal(err)
	}
	dead := openNode(t, s.URL(), "dead", redis.GuardNone)
	dead.does(name, ledger.Op{Want: 1})
	_ = dead.Close()
	got := make(chan error, 1)
	waiter := client(t, ms[1])
	go func() {
		_, err := waiter.Acquire(t.Context(), name, session.Acquire{Wait: time.Minute})
		got <- err
	}()
	within(t, "the other gateway is in the queue", func() bool {
		r := eye.look(name)
		return r.Record.Entry("n1") != nil
	})
	began := time.Now()
	if _, err := holder.Release(t.Context(), name, 1, false, ""); err != nil {
		t.Fatal(err)
	}
	if err := <-got; err != nil {
		t.Fatal(err)
	}
	return time.Since(began)
}

// What somebody has stored under the name of a lock and is no lock stays, whoever asks to
// break it.
func TestBreakOnlyWhatWasSeen(t *testing.T) {
	s := redistest.Start(t)
	m := gateways(t, s, 1, session.Config{})[0]
	rdb, ctx := s.Client(), t.Context()
	for what, put := range map[string]func(key string){
		"a-list":       func(key string) { rdb.RPush(ctx, key, "data") },
		"a-set":        func(key string) { rdb.SAdd(ctx, key, "data") },
		"a-zset":       func(key string) { rdb.ZAdd(ctx, key, goredis.Z{Score: 1, Member: "data"}) },
		"a-stream":     func(key string) { rdb.XAdd(ctx, &goredis.XAddArgs{Stream: key, Values: []string{"k", "v"}}) },
		"a-hash":       func(key string) { rdb.HSet(ctx, key, "name", "alice") },
		"a-large-hash": func(key string) { rdb.HSet(ctx, key, "7c8a1f3e-1111-4222-8333-444455556666:52", 1, "name", "alice") },
	} {
		put(what)
		if err := m.Break(ctx, what, 0, "", "test"); session.CodeOf(err) != session.CodeConflict {
			t.Errorf("break of %s = %v, want a conflict", what, err)
		}
		if rdb.Exists(ctx, what).Val() != 1 {
			t.Errorf("%s is gone", what)
		}
	}
}

// A holder outside lockgw can be broken by the fence that is told of the name.
func TestBreakForeignHolder(t *testing.T) {
	s := redistest.Start(t)
	m := gateways(t, s, 1, session.Config{})[0]
	for _, used := range []bool{false, true} {
		if used {
			c := client(t, m)
			if _, err := c.Acquire(t.Context(), "x", session.Acquire{}); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Release(t.Context(), "x", 1, false, ""); err != nil {
				t.Fatal(err)
			}
		}
		s.Client().HSet(t.Context(), "x", "7c8a1f3e-1111-4222-8333-444455556666:52", 1)
		s.Client().PExpire(t.Context(), "x", 30*time.Second)
		st, err := m.Inspect(t.Context(), "x")
		if err != nil || st.State != session.StateHeld || used != (st.Fence != 0) {
			t.Fatalf("status = %+v, %v, want held, with a fence if the name had one: %v", st, err, used)
		}
		if err := m.Break(t.Context(), "x", st.Fence+1, "", "test"); session.CodeOf(err) != session.CodeFenceMismatch {
			t.Errorf("break by another fence: %v", err)
		}
		if err := m.Break(t.Context(), "x", st.Fence, "7c8a1f3e-1111-4222-8333-444455556666:53", "test"); session.CodeOf(err) != session.CodeFenceMismatch {
			t.Errorf("break of another owner's: %v", err)
		}
		if err := m.Break(t.Context(), "x", st.Fence, st.Holder.Owner, "test"); err != nil {
			t.Errorf("break by the fence that was told: %v", err)
		}
		if st, err := m.Inspect(t.Context(), "x"); err != nil || st.State != session.StateFree {
			t.Errorf("status = %+v, %v, want free", st, err)
		}
	}
}
