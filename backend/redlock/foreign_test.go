package redlock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/redis/redistest"
)

// peer locks as redsync, node-redlock and redis-py do: SET NX PX with a value of its
// own on every server, a majority of which makes the lock.
type peer struct {
	servers []*goredis.Client
	value   string
}

var deleteOwn = goredis.NewScript("if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0")

func newPeer(servers []*redistest.Server) *peer {
	p := &peer{value: "a peer"}
	for _, s := range servers {
		p.servers = append(p.servers, s.Client())
	}
	return p
}

func (p *peer) lock(ctx context.Context, name string) bool {
	n := 0
	for _, c := range p.servers {
		if c.SetNX(ctx, name, p.value, ttl).Val() {
			n++
		}
	}
	if n > len(p.servers)/2 {
		return true
	}
	p.unlock(ctx, name)
	return false
}

// unlock says whether a majority still had it.
func (p *peer) unlock(ctx context.Context, name string) bool {
	n := 0
	for _, c := range p.servers {
		if deleted, _ := deleteOwn.Run(ctx, c, []string{name}, p.value).Int(); deleted == 1 {
			n++
		}
	}
	return n > len(p.servers)/2
}

// Only the lock of another program that was seen is broken, and nothing that is none.
func TestBreakOnlyWhatWasSeen(t *testing.T) {
	t.Parallel()
	servers := start(t, 3, durable...)
	b, ctx := ready(t, open(t, urlOf(servers), "", backend.Node{ID: "a", Incarnation: 1})), t.Context()
	set := func(value string, ttl time.Duration) {
		for _, s := range servers {
			s.Client().Set(ctx, "x", value, ttl)
		}
	}
	see := func() backend.Request {
		st, err := b.Inspect(ctx, "x")
		if err != nil || !st.Foreign {
			t.Fatalf("status = %+v, %v, want a lock of somebody else", st, err)
		}
		return backend.Request{Name: "x", Turn: st.Top, Seen: st.Seen, TTL: st.TTL}
	}
	for what, change := range map[string]func(){
		"another value":  func() { set("another", 10*time.Second) },
		"a longer lease": func() { set("somebody", time.Hour) },
	} {
		set("somebody", 20*time.Second)
		r := see()
		change()
		if _, err := b.Break(ctx, r); !errors.Is(err, backend.ErrFence) {
			t.Errorf("%s: break = %v, want %v", what, err, backend.ErrFence)
		}
		if st, err := b.Inspect(ctx, "x"); err != nil || !st.Held {
			t.Errorf("%s: status = %+v, %v, want it held", what, st, err)
		}
		if _, err := b.Break(ctx, see()); err != nil {
			t.Errorf("%s: break of what was seen now: %v", what, err)
		}
	}
	for _, s := range servers {
		s.Client().RPush(ctx, "x", "data")
	}
	if _, err := b.Break(ctx, see()); !errors.Is(err, backend.ErrConflict) {
		t.Errorf("break of a list = %v, want %v", err, backend.ErrConflict)
	}
	for _, s := range servers {
		if s.Client().Exists(ctx, "x").Val() != 1 {
			t.Error("the list is gone")
		}
	}
}

// Redlock libraries and we exclude each other, with all nodes and with two of five down.
func TestPeers(t *testing.T) {
	t.Parallel()
	for _, down := range []int{0, 2} {
		servers := start(t, 5, durable...)
		b := ready(t, open(t, urlOf(servers), "", backend.Node{ID: "a", Incarnation: 1}))
		for _, s := range servers[:down] {
			s.Kill()
		}
		ctx := t.Context()
		p := newPeer(servers)
		if !p.lock(ctx, "x") {
			t.Fatalf("the peer got no lock, %d down", down)
		}
		got, err := b.Acquire(ctx, request(1))
		if !errors.Is(err, backend.ErrHeld) || !got.Holder.Foreign || got.Wait <= 0 || got.Wait > ttl {
			t.Errorf("%d down: acquire = %+v, %v, want held outside lockgw, and for how long", down, got, err)
		}
		if st, err := b.Inspect(ctx, "x"); err != nil || !st.Held || !st.Foreign {
			t.Errorf("%d down: status = %+v, %v, want held outside lockgw", down, st, err)
		}
		if !p.unlock(ctx, "x") {
			t.Errorf("%d down: the peer cannot release what we asked for in vain", down)
		}

		granted, err := b.Acquire(ctx, request(2))
		if err != nil || !granted.Granted {
			t.Fatalf("%d down: acquire = %+v, %v", down, granted, err)
		}
		if p.lock(ctx, "x") {
			t.Errorf("%d down: the peer has the lock, too", down)
		}
		if errs, err := b.Renew(ctx, []backend.Renewal{{Name: "x", Hold: granted.Hold, TTL: ttl}}); err != nil || errs[0] != nil {
			t.Errorf("%d down: renew after the peer's attempt = %v, %v", down, errs, err)
		}
		r := request(3)
		r.Hold, r.Turn = granted.Hold, granted.Hold
		if _, err := b.Release(ctx, r); err != nil {
			t.Fatal(err)
		}
		if !p.lock(ctx, "x") {
			t.Errorf("%d down: the peer gets no lock after the release", down)
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
