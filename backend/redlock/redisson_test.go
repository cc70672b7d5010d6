package redlock_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/redis/redistest"
	"github.com/lockgw/lockgw/session"
)

// redisson locks as Redisson's RedissonRedLock and RedissonMultiLock do: an RLock on
// each server, by a client each, so that each has another owner.
type redisson struct{ servers []*goredis.Client }

const redissonLease = time.Minute

func newRedisson(servers []*redistest.Server) *redisson {
	r := &redisson{}
	for _, s := range servers {
		r.servers = append(r.servers, s.Client())
	}
	return r
}

func (r *redisson) lock(t *testing.T, name string) {
	t.Helper()
	for i, c := range r.servers {
		_, err := c.TxPipelined(t.Context(), func(p goredis.Pipeliner) error {
			p.HSet(t.Context(), name, fmt.Sprintf("7c8a1f3e-1111-4222-8333-44445555666%d:52", i), 1)
			p.PExpire(t.Context(), name, redissonLease)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// unlock goes from server to server.
func (r *redisson) unlock(t *testing.T, name string) {
	t.Helper()
	for _, c := range r.servers {
		_, err := c.TxPipelined(t.Context(), func(p goredis.Pipeliner) error {
			p.Del(t.Context(), name)
			p.Publish(t.Context(), "redisson_lock__channel:{"+name+"}", "0")
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// listeners is how many servers somebody listens on for the release of name.
func (r *redisson) listeners(ctx context.Context, name string) int {
	n := 0
	channel := "redisson_lock__channel:{" + name + "}"
	for _, c := range r.servers {
		n += int(min(c.PubSubNumSub(ctx, channel).Val()[channel], 1))
	}
	return n
}

// A waiter hears of the release of a program with Redisson on as many nodes as there
// are; and of none of other waits, or when nobody waits any more.
func TestRedissonReleases(t *testing.T) {
	t.Parallel()
	servers := start(t, 3, durable...)
	m := gateway(t, urlOf(servers), "a", time.Minute)
	java, waiter, ctx := newRedisson(servers), client(t, m), t.Context()
	for round := range 3 {
		name := fmt.Sprint("x", round%2) // the last one is of a name that was waited for before
		java.lock(t, name)
		if st, err := m.Inspect(ctx, name); err != nil || st.State != session.StateHeld {
			t.Errorf("status = %+v, %v, want held by somebody outside lockgw", st, err)
		}
		got := make(chan error, 1)
		go func() {
			_, err := waiter.Acquire(ctx, name, session.Acquire{Wait: 2 * limit})
			got <- err
		}()
		eventually(t, "the gateway listens", func() error {
			if n := java.listeners(ctx, name); n != len(servers) {
				return fmt.Errorf("on %d servers", n)
			}
			return nil
		})
		java.unlock(t, name)
		select {
		case err := <-got:
			if err != nil {
				t.Errorf("round %d: %v", round, err)
			}
		case <-time.After(limit):
			t.Fatalf("round %d: not woken within %v, the lease is %v", round, limit, redissonLease)
		}
		eventually(t, "the gateway listens no more", func() error {
			if n := java.listeners(ctx, name); n != 0 {
				return fmt.Errorf("on %d servers", n)
			}
			return nil
		})
		if _, err := waiter.Release(ctx, name, 1, false, ""); err != nil {
			t.Fatal(err)
		}
	}
}

// A release that comes before the subscription is not missed: the backend asks again
// once that stands, on each node.
func TestRedissonSubscriptionIsAHint(t *testing.T) {
	t.Parallel()
	servers := start(t, 3, durable...)
	hints := make(chan backend.Hint, 100)
	b := open(t, urlOf(servers), "", backend.Node{ID: "a", Incarnation: 1})
	b.Listen(func(h backend.Hint) {
		if h.Kind == backend.HintFree {
			hints <- h
		}
	})
	eventually(t, "ready", func() error { return b.Ping(t.Context()) })
	newRedisson(servers).lock(t, "x")
	r := request(1)
	r.Slot, r.Queue = "s", true
	if a, err := b.Acquire(t.Context(), r); err != nil || !a.Queued || !a.Holder.Foreign {
		t.Fatalf("acquire = %+v, %v, want queued behind somebody outside lockgw", a, err)
	}
	for range servers {
		select {
		case h := <-hints:
			if h.Name != "x" || h.Slot != "s" {
				t.Errorf("hint = %+v, want one to ask again for x in s", h)
			}
		case <-time.After(limit):
			t.Fatal("no hint that the subscription stands")
		}
	}
}
