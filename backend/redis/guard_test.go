package redis_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/redis"
	"github.com/lockgw/lockgw/backend/redis/redistest"
	"github.com/lockgw/lockgw/session"
)

const quarantine = 2 * time.Second

// guarded opens the store of a node with a guard; file keeps what it knows of servers.
func guarded(t *testing.T, s interface{ URL() string }, node, guard, file string) *redis.Backend {
	t.Helper()
	b, err := redis.Open(t.Context(), redis.Config{
		URL: s.URL(), FenceTTL: time.Hour, Guard: guard, Lease: quarantine, GuardFile: file,
		Node: backend.Node{ID: node, Incarnation: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b
}

// alone is a guarded store without a gateway's core.
func alone(t *testing.T, s *redistest.Server, node, file string) *redis.Backend {
	t.Helper()
	b := guarded(t, s, node, redis.GuardQuarantine, file)
	b.Listen(func(backend.Hint) {})
	awaitReady(t, b)
	return b
}

// awaitReady waits until b serves, in quarantine or not.
func awaitReady(t *testing.T, b interface{ Ping(context.Context) error }) {
	t.Helper()
	for began := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		err := b.Ping(t.Context())
		if err == nil || errors.Is(err, backend.ErrPartly) {
			return
		}
		if time.Since(began) > 10*time.Second {
			t.Fatalf("not ready: %v", err)
		}
	}
}

func guardedGateways(t *testing.T, s interface{ URL() string }, n int, cfg session.Config) []*session.Manager {
	t.Helper()
	var out []*session.Manager
	for i := range n {
		cfg.Node = fmt.Sprintf("node-%d", i)
		m := session.New(guarded(t, s, fmt.Sprintf("n%d", i), redis.GuardQuarantine, ""), cfg)
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			defer cancel()
			_ = m.Close(ctx)
		})
		awaitReady(t, m)
		out = append(out, m)
	}
	return out
}

func ask(name string, seq uint64) backend.Request {
	return backend.Request{Name: name, Seq: seq, Owner: "o:1", Count: 1, TTL: 2 * time.Second, Turns: 1}
}

func wantQuarantine(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, backend.ErrRefused) || !strings.Contains(fmt.Sprint(err), "backend.redis.guard") {
		t.Fatalf("err = %v, want a refusal that names backend.redis.guard", err)
	}
}

// A server that nobody knows is used at once; who comes later believes who was there.
func TestGuardOfNewServer(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	file := filepath.Join(t.TempDir(), "guard")
	a := alone(t, s, "a", file)
	got, err := a.Acquire(t.Context(), ask("x", 1))
	if err != nil || !got.Granted {
		t.Fatalf("acquire = %+v, %v, want granted", got, err)
	}
	b := alone(t, s, "b", "")
	if got, err := b.Acquire(t.Context(), ask("y", 1)); err != nil || !got.Granted {
		t.Fatalf("acquire by a second gateway = %+v, %v, want granted", got, err)
	}

	// Of the next process of a, which comes back to an empty server:
	_ = a.Close()
	s.Restart()
	a = alone(t, s, "a", file)
	_, err = a.Acquire(t.Context(), ask("x", 2))
	wantQuarantine(t, err)
}

func TestQuarantine(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	a, b := alone(t, s, "a", ""), alone(t, s, "b", "")
	for i, n := range []*redis.Backend{a, b} {
		if got, err := n.Acquire(t.Context(), ask(fmt.Sprint("held-", i), 1)); err != nil || !got.Granted {
			t.Fatalf("acquire = %+v, %v", got, err)
		}
	}
	began := time.Now()
	s.Restart()
	awaitReady(t, a)
	for _, mode := range []backend.Mode{backend.Exclusive, backend.Shared, 3} {
		r := ask(fmt.Sprint("new", int(mode)), 2)
		r.Mode = mode
		_, err := a.Acquire(t.Context(), r)
		wantQuarantine(t, err)
		var later *backend.Later
		if !errors.As(err, &later) || later.After <= 0 || later.After > quarantine {
			t.Errorf("err = %v, want one that says when to ask again, within %v", err, quarantine)
		}
	}
	if err := a.Ping(t.Context()); !errors.Is(err, backend.ErrPartly) || !strings.Contains(err.Error(), "new locks from 20") {
		t.Errorf("ping = %v, want %v with the end of the quarantine", err, backend.ErrPartly)
	}
	var end *backend.Later
	if err := a.Ping(t.Context()); !errors.As(err, &end) || end.After <= 0 || end.After > quarantine {
		t.Errorf("ping = %v, want one that says when it is over", err)
	}
	if st, err := a.Inspect(t.Context(), "new"); err != nil || st.Held || !strings.Contains(st.Refusing, "new locks from 20") {
		t.Errorf("status = %+v, %v, want the end of the quarantine", st, err)
	}
	for {
		got, err := a.Acquire(t.Context(), ask("new", 3))
		if err == nil && got.Granted {
			break
		}
		wantQuarantine(t, err)
		if time.Since(began) > 10*time.Second {
			t.Fatal("still in quarantine")
		}
		time.Sleep(20 * time.Millisecond)
	}
	if took := time.Since(began); took < quarantine {
		t.Errorf("granted after %v, want the quarantine of %v to pass", took, quarantine)
	}
	if err := a.Ping(t.Context()); err != nil {
		t.Errorf("ping after the quarantine: %v", err)
	}
	for _, n := range []*redis.Backend{a, b} { // b has not asked for a lock since
		if st, err := n.Inspect(t.Context(), "free"); err != nil || st.Refusing != "" {
			t.Errorf("status after the quarantine = %+v, %v, want no word of it", st, err)
		}
	}
	if got, err := b.Acquire(t.Context(), ask("other", 2)); err != nil || !got.Granted {
		t.Errorf("acquire by a gateway that comes later = %+v, %v, want granted: another has waited already", got, err)
	}
}

// The masters of a cluster that nobody has used grant at once, all of them. One that
// comes back empty does not, to a gateway that is new either.
func TestGuardOfNewCluster(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, 0)
	names := namesOn(t, c)
	a := guarded(t, c, "a", redis.GuardQuarantine, "")
	a.Listen(func(backend.Hint) {})
	for _, name := range names {
		if got, err := a.Acquire(t.Context(), ask(name, 1)); err != nil || !got.Granted {
			t.Errorf("acquire %s = %+v, %v, want granted", name, got, err)
		}
	}
	within(t, "all of it is ready", func() bool { return a.Ping(t.Context()) == nil })
	_ = a.Close()
	c.Masters[1].Restart()
	within(t, "the master serves again", func() bool { return c.Masters[1].Client().Exists(t.Context(), names[1]).Err() == nil })
	b := guarded(t, c, "b", redis.GuardQuarantine, "")
	b.Listen(func(backend.Hint) {})
	within(t, "the rest is ready", func() bool {
		err := b.Ping(t.Context())
		return errors.Is(err, backend.ErrPartly) && strings.Contains(err.Error(), "1 of 3 masters") && strings.Contains(err.Error(), "new locks from")
	})
	_, err := b.Acquire(t.Context(), ask(names[1], 2))
	wantQuarantine(t, err)
	if got, err := b.Acquire(t.Context(), ask(names[0]+"{"+names[0]+"}", 2)); err != nil || !got.Granted {
		t.Errorf("acquire where nothing was forgotten = %+v, %v, want granted", got, err)
	}
}

// reload starts the server again with what it had at the last SAVE.
func reload(t *testing.T, s *redistest.Server) {
	t.Helper()
	s.Restart()
}

func persistent(t *testing.T) *redistest.Server {
	return redistest.Start(t, "--save", "3600 1", "--dbfilename", "dump.rdb")
}

func save(t *testing.T, s *redistest.Server) {
	t.Helper()
	if err := s.Client().Save(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
}

// What the store still has goes on: it is renewed, passed on by its holder, and then
// granted as ever.
func TestQuarantineKnowsWhoGivesBack(t *testing.T) {
	t.Parallel()
	s := persistent(t)
	ms := guardedGateways(t, s, 2, session.Config{TTL: 3 * time.Second})
	holder, next := client(t, ms[0]), client(t, ms[1])
	g, err := holder.Acquire(t.Context(), "x", session.Acquire{})
	if err != nil {
		t.Fatal(err)
	}
	save(t, s)
	reload(t, s)
	for _, m := range ms {
		awaitReady(t, m)
	}
	_, err = next.Acquire(t.Context(), "other", session.Acquire{})
	if session.CodeOf(err) != session.CodeUnavailable || !strings.Contains(err.Error(), "backend.redis.guard") {
		t.Fatalf("acquire in quarantine: %v, want %s that says why", err, session.CodeUnavailable)
	}
	if _, err := g.Lease.View(); err != nil {
		t.Fatalf("the hold is over: %v", err)
	}
	if r, err := holder.Release(t.Context(), "x", 1, false, ""); err != nil || r.Pending {
		t.Fatalf("release = %+v, %v", r, err)
	}
	h, err := next.Acquire(t.Context(), "x", session.Acquire{})
	if err != nil || h.Lease.Fence() <= g.Lease.Fence() {
		t.Fatalf("acquire of what its holder has given back = %v, want granted with a larger fence than %d", err, g.Lease.Fence())
	}
}

// A hold that the store has forgotten is written down again by its holder, with the
// same fence, whether the store is empty or has an older holder in its place.
func TestForgottenHoldIsRestored(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		a    session.Acquire
		old  bool // the store comes back with a holder before this one
	}{
		{"empty", session.Acquire{}, false}, {"older holder", session.Acquire{}, true},
		{"fixed", session.Acquire{Fixed: true}, false}, {"shared", session.Acquire{Shared: true}, false},
		{"semaphore", session.Acquire{Limit: 2}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := persistent(t)
			ms := guardedGateways(t, s, 2, session.Config{TTL: 6 * time.Second})
			before, holder, other := client(t, ms[1]), client(t, ms[0]), client(t, ms[1])
			if tt.old {
				if _, err := before.Acquire(t.Context(), "x", tt.a); err != nil {
					t.Fatal(err)
				}
			}
			save(t, s)
			if tt.old {
				if _, err := before.Release(t.Context(), "x", 1, false, ""); err != nil {
					t.Fatal(err)
				}
			}
			g, err := holder.Acquire(t.Context(), "x", tt.a)
			if err != nil {
				t.Fatal(err)
			}
			fence := g.Lease.Fence()
			reload(t, s)
			for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
				st, err := ms[1].Inspect(t.Context(), "x")
				if err == nil && st.State == session.StateHeld && st.Fence >= fence && st.Holder.Owner == g.Lease.Owner() {
					break
				}
				if time.Since(began) > 10*time.Second {
					t.Fatalf("the store says %+v, %v, want the holder with fence %d", st, err, fence)
				}
			}
			if v, err := g.Lease.View(); err != nil || v.Fence != fence {
				t.Errorf("hold = %+v, %v, want fence %d as before", v, err, fence)
			}
			if _, err := other.Acquire(t.Context(), "x", session.Acquire{}); err == nil {
				t.Error("another was granted the name")
			}
			if _, err := holder.Release(t.Context(), "x", 1, false, ""); err != nil {
				t.Errorf("release: %v", err)
			}
		})
	}
}

// Each of several holders comes back, in whatever order their gateways ask.
func TestForgottenHoldsAreRestored(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	ms := guardedGateways(t, s, 2, session.Config{TTL: 6 * time.Second})
	var leases []*session.Lease
	for i, a := range []session.Acquire{{Shared: true}, {Shared: true}, {Shared: true}, {Limit: 3}, {Limit: 3}, {Limit: 3}} {
		g, err := client(t, ms[i%2]).Acquire(t.Context(), fmt.Sprint("x", a.Limit), a)
		if err != nil {
			t.Fatal(err)
		}
		leases = append(leases, g.Lease)
	}
	s.Restart()
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		shared, err := ms[0].Inspect(t.Context(), "x0")
		permits, err2 := ms[1].Inspect(t.Context(), "x3")
		if err == nil && err2 == nil && shared.Holders == 3 && permits.Holders == 3 {
			break
		}
		if time.Since(began) > 10*time.Second {
			t.Fatalf("the store says %+v, %v and %+v, %v, want three holders of each", shared, err, permits, err2)
		}
	}
	time.Sleep(2500 * time.Millisecond) // they are renewed
	for i, l := range leases {
		if err := l.Err(); err != nil {
			t.Errorf("hold %d: %v", i, err)
		}
	}
}

// A permit that another was granted meanwhile does not come back: its lease was longer
// than the quarantine, and its gateway too late.
func TestForgottenPermitTooLate(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	a, b := alone(t, s, "a", ""), alone(t, s, "b", "")
	r := ask("x", 1)
	r.Mode, r.TTL = 1, time.Minute
	held, err := a.Acquire(t.Context(), r)
	if err != nil || !held.Granted {
		t.Fatalf("acquire = %+v, %v", held, err)
	}
	s.Restart()
	awaitReady(t, a)
	awaitReady(t, b)
	next := r
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		next.Seq++
		if got, err := b.Acquire(t.Context(), next); err == nil && got.Granted {
			break
		}
		if time.Since(began) > 10*time.Second {
			t.Fatal("still in quarantine")
		}
	}
	r.Seq, r.Hold, r.Turn = 2, held.Hold, held.Hold
	if got, err := a.Reclaim(t.Context(), r); err != nil || got.Granted {
		t.Errorf("reclaim = %+v, %v, want that it is over: another has the only permit", got, err)
	}
}

// A hold that was taken away is not written down again.
func TestBrokenHoldIsNotRestored(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	ms := guardedGateways(t, s, 2, session.Config{TTL: 3 * time.Second})
	lost := func(l *session.Lease) {
		t.Helper()
		select {
		case <-l.Done():
		case <-time.After(10 * time.Second):
			t.Fatal("still held")
		}
	}
	take := func(i int) *session.Lease {
		t.Helper()
		g, err := client(t, ms[i]).Acquire(t.Context(), "x", session.Acquire{Wait: 10 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		return g.Lease
	}
	l := take(0)
	if err := s.Client().Del(t.Context(), "x").Err(); err != nil {
		t.Fatal(err)
	}
	lost(l)
	s.Restart()
	time.Sleep(quarantine)
	l = take(0)
	if err := ms[1].Break(t.Context(), "x", l.Fence(), "test"); err != nil {
		t.Fatal(err)
	}
	lost(l)
}

// Callers of three gateways go on while Redis is killed and comes back empty, again
// and again: no two ever hold the name, and fences rise.
func TestQuarantineUnderLoad(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	ms := guardedGateways(t, s, 3, session.Config{TTL: 2 * time.Second})
	var mu sync.Mutex
	var cur *session.Lease
	var last backend.Fence
	grants := 0
	ctx, stop := context.WithCancel(t.Context())
	var callers sync.WaitGroup
	for i := range 9 {
		c := client(t, ms[i%3])
		callers.Go(func() {
			for ctx.Err() == nil {
				g, err := c.Acquire(ctx, "x", session.Acquire{Wait: 2 * time.Second})
				if err != nil {
					time.Sleep(5 * time.Millisecond)
					continue
				}
				mu.Lock()
				if _, err := g.Lease.View(); err == nil {
					if cur != nil && cur.Err() == nil {
						t.Errorf("fence %d is granted while %d is held", g.Lease.Fence(), cur.Fence())
					}
					if g.Lease.Fence() <= last {
						t.Errorf("fence %d after %d", g.Lease.Fence(), last)
					}
					cur, last = g.Lease, g.Lease.Fence()
					grants++
				}
				mu.Unlock()
				time.Sleep(time.Duration(1+i*20) * time.Millisecond)
				mu.Lock()
				if cur == g.Lease {
					cur = nil
				}
				mu.Unlock()
				_, _ = c.Release(context.Background(), "x", 1, true, "")
			}
		})
	}
	for range 3 {
		time.Sleep(300 * time.Millisecond)
		s.Restart()
		time.Sleep(quarantine + time.Second)
	}
	stop()
	callers.Wait()
	if grants < 12 {
		t.Errorf("%d grants, want more", grants)
	}
}

func TestGuardWaits(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	b := guarded(t, s, "a", redis.GuardWait, "")
	b.Listen(func(backend.Hint) {})
	within(t, "a store without a replica is not ready", func() bool {
		err := b.Ping(t.Context())
		return err != nil && !errors.Is(err, backend.ErrPartly) && strings.Contains(err.Error(), "connect a replica")
	})
	for began := time.Now(); ; {
		_, err := b.Acquire(t.Context(), ask("x", 1))
		if errors.Is(err, backend.ErrRefused) && strings.Contains(err.Error(), "no replica") {
			break
		}
		if !errors.Is(err, backend.ErrUnavailable) || time.Since(began) > 10*time.Second {
			t.Fatalf("acquire without a replica: %v, want a refusal that says so", err)
		}
	}
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		st, err := b.Inspect(t.Context(), "x")
		if err == nil && !st.Held {
			break
		}
		if err == nil || time.Since(began) > 10*time.Second {
			t.Fatalf("status = %+v, %v, want free: the grant has to be undone", st, err)
		}
	}
	replica := redistest.Start(t, "--replicaof", strings.ReplaceAll(s.Addr, ":", " "))
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		got, err := b.Acquire(t.Context(), ask("x", 1))
		if err == nil && got.Granted {
			break
		}
		if time.Since(began) > 10*time.Second {
			t.Fatalf("acquire with a replica = %+v, %v", got, err)
		}
	}
	if err := b.Ping(t.Context()); err != nil {
		t.Errorf("ping with a replica: %v", err)
	}
	if n, err := replica.Client().Exists(t.Context(), "x").Result(); err != nil || n != 1 {
		t.Errorf("the replica has %d such keys, %v, want the lock", n, err)
	}
}

// What a server in quarantine must not take for proof.
func TestQuarantineProofs(t *testing.T) {
	t.Parallel()
	s := persistent(t)
	a := alone(t, s, "a", "")
	hold := map[string]backend.Fence{}
	for _, name := range []string{"repeat", "provisional", "newer", "broken"} {
		got, err := a.Acquire(t.Context(), ask(name, 1))
		if err != nil || !got.Granted {
			t.Fatalf("acquire %s = %+v, %v", name, got, err)
		}
		hold[name] = got.Hold
	}
	b := guarded(t, s, "b", redis.GuardQuarantine, "")
	hints := make(chan backend.Hint, 100)
	b.Listen(func(h backend.Hint) { hints <- h })
	awaitReady(t, b)
	queue := ask("provisional", 1)
	queue.Queue = true
	if got, err := b.Acquire(t.Context(), queue); err != nil || !got.Queued {
		t.Fatalf("acquire = %+v, %v, want queued", got, err)
	}
	release := func(name string, repeat bool) {
		t.Helper()
		r := ask(name, 2)
		r.Hold, r.Turn, r.Repeat = hold[name], hold[name], repeat
		if _, err := a.Release(t.Context(), r); err != nil {
			t.Fatalf("release %s: %v", name, err)
		}
	}
	release("provisional", false) // to b, who has not confirmed yet
	save(t, s)
	s.Restart()
	awaitReady(t, a)
	awaitReady(t, b)

	c := ask("provisional", 0)
	for c.Hold == 0 {
		select {
		case h := <-hints:
			c.Hold = h.Fence // 0 of a hint that is none of a grant
		case <-time.After(10 * time.Second):
			t.Fatal("no hint")
		}
	}
	if _, err := b.Confirm(t.Context(), c); !errors.Is(err, backend.ErrNotHeld) {
		t.Errorf("confirm = %v, want %v: it may have run out and been granted to another", err, backend.ErrNotHeld)
	}

	release("repeat", true)
	_, err := b.Acquire(t.Context(), ask("repeat", 1))
	wantQuarantine(t, err)

	if _, err := a.Break(t.Context(), backend.Request{Name: "broken", Turn: hold["broken"]}); err != nil {
		t.Fatal(err)
	}
	if err := s.Client().Del(t.Context(), "newer").Err(); err != nil {
		t.Fatal(err)
	}
	for name, floor := range map[string]backend.Fence{"broken": hold["broken"], "newer": hold["newer"] - 1} {
		r := ask(name, 2)
		r.Hold, r.Turn, r.Floor = hold[name], hold[name], floor
		if got, err := a.Reclaim(t.Context(), r); err != nil || got.Granted {
			t.Errorf("reclaim %s = %+v, %v, want that it is over", name, got, err)
		}
	}
}
