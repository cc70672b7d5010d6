package redlock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-redsync/redsync/v4"
	syncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/redis/redistest"
)

// peer is redsync over the same servers.
func peer(servers []*redistest.Server) *redsync.Redsync {
	var pools []syncredis.Pool
	for _, s := range servers {
		pools = append(pools, goredis.NewPool(s.Client()))
	}
	return redsync.New(pools...)
}

// redsync and we exclude each other, with all nodes and with two of five down.
func TestRedsync(t *testing.T) {
	t.Parallel()
	for _, down := range []int{0, 2} {
		servers := start(t, 5, durable...)
		b := ready(t, open(t, urlOf(servers), "", backend.Node{ID: "a", Incarnation: 1}))
		for _, s := range servers[:down] {
			s.Kill()
		}
		ctx := t.Context()
		m := peer(servers).NewMutex("x", redsync.WithExpiry(ttl), redsync.WithTries(1))
		if err := m.LockContext(ctx); err != nil {
			t.Fatalf("redsync, %d down: %v", down, err)
		}
		got, err := b.Acquire(ctx, request(1))
		if !errors.Is(err, backend.ErrHeld) || !got.Holder.Foreign || got.Wait <= 0 || got.Wait > ttl {
			t.Errorf("%d down: acquire = %+v, %v, want held outside lockgw, and for how long", down, got, err)
		}
		if st, err := b.Inspect(ctx, "x"); err != nil || !st.Held || !st.Foreign {
			t.Errorf("%d down: status = %+v, %v, want held outside lockgw", down, st, err)
		}
		if ok, err := m.UnlockContext(ctx); !ok {
			t.Errorf("%d down: redsync cannot release what we asked for in vain: %v", down, err)
		}

		granted, err := b.Acquire(ctx, request(2))
		if err != nil || !granted.Granted {
			t.Fatalf("%d down: acquire = %+v, %v", down, granted, err)
		}
		if err := m.LockContext(ctx); err == nil {
			t.Errorf("%d down: redsync has the lock, too", down)
		}
		if errs, err := b.Renew(ctx, []backend.Renewal{{Name: "x", Hold: granted.Hold, TTL: ttl}}); err != nil || errs[0] != nil {
			t.Errorf("%d down: renew after redsync's attempt = %v, %v", down, errs, err)
		}
		r := request(3)
		r.Hold, r.Turn = granted.Hold, granted.Hold
		if _, err := b.Release(ctx, r); err != nil {
			t.Fatal(err)
		}
		if err := m.LockContext(ctx); err != nil {
			t.Errorf("%d down: redsync after the release: %v", down, err)
		}
	}
}

// What a minority accepted for nothing is taken back, and no fence counts as given.
func TestUndo(t *testing.T) {
	t.Parallel()
	servers := start(t, 3, durable...)
	b := ready(t, open(t, urlOf(servers), "", backend.Node{ID: "a", Incarnation: 1}))
	ctx := t.Context()
	granted, err := b.Acquire(ctx, request(1))
	if err != nil {
		t.Fatal(err)
	}
	r := request(2)
	r.Hold, r.Turn = granted.Hold, granted.Hold
	if _, err := b.Release(ctx, r); err != nil {
		t.Fatal(err)
	}
	eventually(t, "release everywhere", func() error {
		return servers[2].Client().Get(ctx, "lockgw:{x}:f").Err()
	})
	given := servers[2].Client().Get(ctx, "redisson_lock_token:{x}").Val()
	for _, s := range servers[:2] {
		if err := s.Client().Set(ctx, "x", "somebody", time.Minute).Err(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.Acquire(ctx, request(3)); !errors.Is(err, backend.ErrHeld) {
		t.Errorf("acquire: %v, want held", err)
	}
	third := servers[2].Client()
	eventually(t, "undo", func() error { // the answer does not wait for a node that cannot change it
		if third.Exists(ctx, "x", "lockgw:{x}:s").Val() != 0 || third.Get(ctx, "redisson_lock_token:{x}").Val() == given {
			return errors.New("the free node still has what it accepted, or was not asked yet")
		}
		return nil
	})
	for _, s := range servers[:2] {
		s.Client().Del(ctx, "x")
	}
	if st, err := b.Inspect(ctx, "x"); err != nil || st.Held || st.Top != granted.Hold {
		t.Errorf("status = %+v, %v, want free, and %d as the last fence given", st, err, granted.Hold)
	}
	// A node may have missed what was given, and accepted a ballot for nothing since, by
	// which it has the same counter as the others or a higher one.
	counters := []string{
		servers[0].Client().Get(ctx, "redisson_lock_token:{x}").Val(), third.Get(ctx, "redisson_lock_token:{x}").Val(),
	}
	for _, counter := range counters {
		third.Set(ctx, "redisson_lock_token:{x}", counter, 0)
		third.Set(ctx, "lockgw:{x}:f", "1 "+counter+" 1", 0)
		if st, err := b.Inspect(ctx, "x"); err != nil || st.Top != granted.Hold {
			t.Errorf("status = %+v, %v, want still %d as the last fence given", st, err, granted.Hold)
		}
	}
}

// The keys are those of one Redis, so that whoever reads them reads the same.
func TestLayout(t *testing.T) {
	t.Parallel()
	servers := start(t, 3, durable...)
	b := ready(t, open(t, urlOf(servers), "app:", backend.Node{ID: "a", Incarnation: 1}))
	ctx := t.Context()
	granted, err := b.Acquire(ctx, request(1))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range servers {
		eventually(t, "layout", func() error {
			c := s.Client()
			if c.HGet(ctx, "app:x", "o:1").Val() != "1" || c.PTTL(ctx, "app:x").Val() <= 0 {
				return errors.New("no hash owner -> count with a ttl")
			}
			if n, err := c.Get(ctx, "redisson_lock_token:{app:x}").Uint64(); err != nil || n < uint64(granted.Hold) {
				return errors.New("no fence counter")
			}
			return nil
		})
	}
	released := make(chan string, 10)
	sub := servers[0].Client().Subscribe(ctx, "redisson_lock__channel:{app:x}")
	defer sub.Close()
	if _, err := sub.Receive(ctx); err != nil {
		t.Fatal(err)
	}
	go func() {
		if m, err := sub.ReceiveMessage(ctx); err == nil {
			released <- m.Payload
		}
	}()
	r := request(2)
	r.Hold, r.Turn = granted.Hold, granted.Hold
	if _, err := b.Release(ctx, r); err != nil {
		t.Fatal(err)
	}
	waiting, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	select {
	case p := <-released:
		if p != "0" {
			t.Errorf("published %q, want 0", p)
		}
	case <-waiting.Done():
		t.Error("the release was not published")
	}
}
