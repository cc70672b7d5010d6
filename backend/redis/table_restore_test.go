package redis_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/boottime"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/redis"
	"github.com/lockgw/lockgw/backend/redis/redistest"
	"github.com/lockgw/lockgw/session"
)

// A permit that another was granted meanwhile does not come back: its lease was longer than
// the quarantine, and its gateway too late.
func TestTableForgottenPermitTooLate(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	a, b := openNode(t, s.URL(), "a", redis.GuardQuarantine), openNode(t, s.URL(), "b", redis.GuardQuarantine)
	only := ledger.Op{Mode: 1, Want: 1, TTL: time.Minute}
	r := a.does("x", only)
	held := r.Record.Firm("a")
	s.RestartEmpty()
	within(t, "the quarantine is over", func() bool {
		seen, err := b.Look(t.Context(), "x")
		if err != nil {
			return false
		}
		r, err := b.Swap(t.Context(), b.swapOf("x", seen, only))
		return err == nil && r.Written && r.Record.Firm("b") != nil
	})
	r = a.does("x", ledger.Op{Verb: ledger.Reclaim, Hold: held.ID, Mode: 1, Keep: 1, Restore: true, Floor: 1 << 52})
	if r.Record.Firm("a") != nil || r.Record.Firm("b") == nil {
		t.Errorf("two have the only permit: %+v", r.Record)
	}
}

// A shared hold that is written down again leaves nothing behind when it runs out.
func TestTableForgottenShareExpires(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	a := openNode(t, s.URL(), "a", redis.GuardQuarantine)
	first := a.does("x", ledger.Op{Mode: backend.Shared, Want: 1})
	held := first.Record.Firm("a")
	s.RestartEmpty()
	within(t, "it is written down again", func() bool {
		seen, err := a.Look(t.Context(), "x")
		if err != nil {
			return false
		}
		op := ledger.Op{Verb: ledger.Reclaim, Hold: held.ID, Mode: backend.Shared, Keep: 1, Restore: true, Floor: held.ID}
		r, err := a.Swap(t.Context(), a.swapOf("x", seen, op))
		return err == nil && r.Written && r.Record.Firm("a") != nil && r.Record.Firm("a").ID == held.ID
	})
	of := 0
	for _, key := range s.Client().Keys(t.Context(), "*").Val() {
		if strings.HasPrefix(key, "lockgw:guard:") {
			continue
		}
		of++
		if left := s.Client().PTTL(t.Context(), key).Val(); left <= 0 {
			t.Errorf("%s stays for ever", key)
		}
	}
	if of < 2 {
		t.Errorf("%d keys, want the lock and its record", of)
	}
}

// A fixed lease that is written down again ends for the store after it has ended for its
// holder, by the margin that is for clocks which do not run alike.
func TestForgottenFixedLeaseKeepsItsMargin(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	m := gateways(t, s, 1, session.Config{})[0]
	const ttl = 20 * time.Second
	g, err := client(t, m).Acquire(t.Context(), "x", session.Acquire{TTL: ttl, Fixed: true})
	if err != nil {
		t.Fatal(err)
	}
	before, err := g.Lease.View()
	if err != nil {
		t.Fatal(err)
	}
	s.RestartEmpty()
	within(t, "the hold is written down again", func() bool { return s.Client().Exists(t.Context(), "x").Val() == 1 })
	rdb := s.Client()
	rdb.Ping(t.Context())
	sent := boottime.Now()
	left := rdb.PTTL(t.Context(), "x").Val()
	if earliest, latest := sent+left, boottime.Now()+left; latest < before.Deadline+ttl/200 || earliest > before.Deadline+ttl/10 {
		t.Errorf("it ends %v after its deadline, want about %v", earliest-before.Deadline, ttl/100)
	}
	if after, err := g.Lease.View(); err != nil || after.Deadline != before.Deadline {
		t.Errorf("the deadline moved by %v, %v", after.Deadline-before.Deadline, err)
	}
}

// A hold that was taken away is not written down again.
func TestTakenHoldIsNotRestored(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	ms := gateways(t, s, 2, session.Config{TTL: 3 * time.Second})
	ends := map[string]func(l *session.Lease) error{
		"deleted": func(*session.Lease) error { return s.Client().Del(t.Context(), "deleted").Err() },
		"broken":  func(l *session.Lease) error { return ms[1].Break(t.Context(), "broken", l.Fence(), "", "a test") },
	}
	for name, end := range ends {
		g, err := client(t, ms[0]).Acquire(t.Context(), name, session.Acquire{})
		if err != nil {
			t.Fatal(err)
		}
		if err := end(g.Lease); err != nil {
			t.Fatal(err)
		}
		select {
		case <-g.Lease.Done():
		case <-time.After(time.Minute):
			t.Fatalf("%s, and held still", name)
		}
		if n := s.Client().Exists(t.Context(), name).Val(); n != 0 {
			t.Errorf("%s, and written down again", name)
		}
	}
}

// Callers of three gateways go on while Redis is killed and comes back empty, again and
// again: no two ever hold the name, and fences rise.
func TestQuarantineUnderLoad(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	ms := gateways(t, s, 3, session.Config{TTL: 2 * time.Second})
	var mu sync.Mutex // guards the fields below
	var present *session.Lease
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
					if present != nil && present.Err() == nil {
						t.Errorf("fence %d is granted while %d is held", g.Lease.Fence(), present.Fence())
					}
					if g.Lease.Fence() <= last {
						t.Errorf("fence %d after %d", g.Lease.Fence(), last)
					}
					present, last = g.Lease, g.Lease.Fence()
					grants++
				}
				mu.Unlock()
				time.Sleep(time.Duration(1+i*20) * time.Millisecond)
				mu.Lock()
				if present == g.Lease {
					present = nil
				}
				mu.Unlock()
				_, _ = c.Release(context.Background(), "x", 1, true, "")
			}
		})
	}
	defer callers.Wait()
	defer stop()
	granted := func() {
		t.Helper()
		mu.Lock()
		enough := grants + 4
		mu.Unlock()
		within(t, "callers are granted the name", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return grants >= enough
		})
	}
	granted()
	for range 3 {
		s.RestartEmpty()
		time.Sleep(tableQuarantine / 2) // holders and those who wait meet it as it is now
		granted()
	}
}

// The masters of a cluster that nobody has used grant at once, all of them. One that comes
// back empty does not, to a gateway that is new either.
func TestTableOfNewCluster(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, 0)
	a := openNode(t, c.URL(), "a", redis.GuardQuarantine)
	on := map[*redistest.Server]string{}
	for _, name := range strings.Split("abcdefghijklmnopqrstuvwxyz", "") {
		on[c.Owner(name)] = name
	}
	if len(on) != 3 {
		t.Fatalf("the names are on %d masters", len(on))
	}
	for _, name := range on {
		a.takes(name)
	}
	_ = a.Close()
	gone := c.Masters[1]
	gone.Restart()
	b := openNode(t, c.URL(), "b", redis.GuardQuarantine)
	within(t, "the rest is ready", func() bool {
		err := b.Ping(t.Context())
		return errors.Is(err, backend.ErrPartly) && strings.Contains(err.Error(), "new locks from 20")
	})
	_, err := b.try(on[gone], ledger.Op{Want: 1})
	wantLater(t, err)
	for server, name := range on {
		if server != gone {
			b.takes("next{" + name + "}")
		}
	}
}
