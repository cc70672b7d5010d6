package redis_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/redis/redistest"
)

// A waiter behind a Redisson program hears of its release by SPUBLISH, also after the
// slot was moved; and Redisson hears of ours.
func clusterRedisson(t *testing.T, c *redistest.Cluster) {
	b, hints := openAt(t, c.URL(), backend.Node{ID: "n", Incarnation: 3})
	ctx := t.Context()
	const name, channel = "java", "redisson_lock__channel:{java}"
	for i, moves := range []int{0, 1, 2} { // and 2: there and back
		home := c.Owner(name)
		before, rdb := home, home.Client()
		rdb.HSet(ctx, name, "7c8a1f3e-1111-4222-8333-444455556666:52", 1)
		rdb.PExpire(ctx, name, time.Minute)
		if a, err := b.Acquire(ctx, request(name, uint64(10*i+1))); err != nil || !a.Queued || !a.Holder.Foreign {
			t.Fatalf("acquire = %+v, %v, want queued behind another program", a, err)
		}
		listeners := func(s *redistest.Server) int64 { return s.Client().PubSubShardNumSub(ctx, channel).Val()[channel] }
		within(t, "the channel is listened to", func() bool { return listeners(home) == 1 })
		for there := range moves {
			from, to := home, other(c, home)
			if there == 1 {
				to = before
			}
			c.Move(name, from, to)
			home = to
		}
		if moves > 0 {
			within(t, "the channel is listened to where the slot is now", func() bool { return listeners(home) == 1 })
		}
		rdb = home.Client()
		rdb.Del(ctx, name)
		drain(hints)
		rdb.SPublish(ctx, channel, "0")
		wantHint(t, hints, backend.HintFree)
		a, err := b.Acquire(ctx, request(name, uint64(10*i+2)))
		if err != nil || !a.Granted {
			t.Fatalf("acquire = %+v, %v, want granted", a, err)
		}
		ps := rdb.SSubscribe(ctx, channel)
		if _, err := ps.Receive(ctx); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Release(ctx, backend.Request{Name: name, Seq: uint64(10*i + 3), Hold: a.Hold, Turn: a.Hold, Attempt: uint64(10*i + 2)}); err != nil {
			t.Fatalf("release: %v", err)
		}
		if m, err := ps.ReceiveMessage(ctx); err != nil || m.Payload != "0" {
			t.Errorf("Redisson hears %v, %v, want 0", m, err)
		}
		_ = ps.Close()
	}
}

func drain(hints chan backend.Hint) {
	for len(hints) > 0 {
		<-hints
	}
}

func other(c *redistest.Cluster, s *redistest.Server) *redistest.Server {
	return c.Masters[(indexOf(c, s)+1)%len(c.Masters)]
}

// The masters announce themselves at the address of a proxy here.
func clusterSubscriptions(t *testing.T, c *redistest.Cluster) {
	victim := c.Masters[1]
	link := redistest.Proxy(t, victim.Addr)
	_, port, _ := strings.Cut(link.Addr, ":")
	_, own, _ := strings.Cut(victim.Addr, ":")
	announce := func(port string) {
		if err := victim.Client().ConfigSet(context.WithoutCancel(t.Context()), "cluster-announce-port", port).Err(); err != nil {
			t.Fatal(err)
		}
		within(t, "the others know the address", func() bool {
			return strings.Contains(c.Masters[0].Client().ClusterNodes(t.Context()).Val(), ":"+port+"@")
		})
	}
	announce(port)
	defer announce(own)
	b, hints := openAt(t, "redis+cluster://"+c.Masters[0].Addr+","+c.Masters[2].Addr, backend.Node{ID: "n", Incarnation: 6})

	drain(hints)
	if n := victim.Client().ClientKillByFilter(t.Context(), "TYPE", "pubsub").Val(); n == 0 {
		t.Error("nobody listens on the master")
	}
	wantHint(t, hints, backend.HintResync)
	within(t, "the node listens again", func() bool { return b.Ping(t.Context()) == nil })

	drain(hints)
	link.SetPresent(redistest.BlackHole)
	wantHint(t, hints, backend.HintResync)
	within(t, "the node listens again", func() bool { return b.Ping(t.Context()) == nil })
}

// A node listens on a master that joins the cluster, as soon as that has a slot.
func clusterNewMaster(t *testing.T, c *redistest.Cluster) {
	b, hints := openAt(t, c.URL(), backend.Node{ID: "n", Incarnation: 7})
	added := c.Add()
	from := c.Owner("new")
	drain(hints)
	c.Move("new", from, added)
	wantHint(t, hints, backend.HintResync)
	a, err := b.Acquire(t.Context(), request("new", 1))
	if err != nil || !a.Granted {
		t.Fatalf("acquire = %+v, %v, want granted", a, err)
	}
	second, hints := openAt(t, c.URL(), backend.Node{ID: "second", Incarnation: 1})
	if a, err := second.Acquire(t.Context(), request("new", 1)); err != nil || !a.Queued {
		t.Fatalf("acquire = %+v, %v, want queued", a, err)
	}
	if _, err := b.Release(t.Context(), backend.Request{Name: "new", Seq: 2, Attempt: 1, Hold: a.Hold, Turn: a.Hold}); err != nil {
		t.Fatalf("release: %v", err)
	}
	wantHint(t, hints, backend.HintGranted)
}
