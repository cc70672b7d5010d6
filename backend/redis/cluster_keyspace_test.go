package redis_test

import (
	"slices"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/redis/redistest"
)

// A lock by SET NX PX is waited for by what its own master tells of the key, at home,
// after its slot was moved, and after it was moved back.
func clusterKeyspace(t *testing.T, c *redistest.Cluster) {
	ctx := t.Context()
	for _, s := range c.Masters {
		if err := s.Client().ConfigSet(ctx, "notify-keyspace-events", "Kg").Err(); err != nil {
			t.Fatal(err)
		}
		defer s.Client().ConfigSet(ctx, "notify-keyspace-events", "")
	}
	b, hints := openAt(t, c.URL(), backend.Node{ID: "n", Incarnation: 9})
	const name, channel = "other-program", "__keyspace@0__:other-program"
	for i, moves := range []int{0, 1, 2} {
		seq := uint64(10*i + 1)
		home := c.Owner(name)
		before := home
		home.Client().SetNX(ctx, name, "secret", time.Minute)
		if a, err := b.Acquire(ctx, request(name, seq)); err != nil || !a.Queued || !a.Holder.Foreign {
			t.Fatalf("acquire = %+v, %v, want queued behind another program", a, err)
		}
		heardAt(t, c, channel, home)
		for there := range moves {
			from, to := home, other(c, home)
			if there == 1 {
				to = before
			}
			c.Move(name, from, to)
			home = to
			heardAt(t, c, channel, home)
		}
		quiet(hints)
		if n := home.Client().Del(ctx, name).Val(); n != 1 {
			t.Fatalf("%d keys deleted, want the lock", n)
		}
		if h := wantHint(t, hints, backend.HintFree); h.Name != name {
			t.Errorf("hint = %+v, want one about %s", h, name)
		}
		a, err := b.Acquire(ctx, request(name, seq))
		if err != nil || !a.Granted {
			t.Fatalf("acquire = %+v, %v, want granted", a, err)
		}
		if _, err := b.Release(ctx, backend.Request{Name: name, Seq: seq + 1, Hold: a.Hold, Turn: a.Hold, Attempt: seq}); err != nil {
			t.Fatalf("release: %v", err)
		}
		heardAt(t, c, channel)
	}
}

// It is listened to on the replica that takes over.
func TestClusterKeyspaceAfterFailover(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, 1, "--notify-keyspace-events", "Kg")
	b, hints := openAt(t, c.URL(), backend.Node{ID: "n", Incarnation: 1})
	name := namesOn(t, c)[0]
	ctx, channel := t.Context(), "__keyspace@0__:"+name
	c.Masters[0].Client().SetNX(ctx, name, "secret", time.Minute)
	if a, err := b.Acquire(ctx, request(name, 1)); err != nil || !a.Queued {
		t.Fatalf("acquire = %+v, %v, want queued", a, err)
	}
	heardAt(t, c, channel, c.Masters[0])
	redistest.Stop(t, c.Masters[0], c.Replicas[0])
	next := c.Replicas[0].Client()
	within(t, "the channel is listened to on the replica", func() bool { return next.PubSubNumSub(ctx, channel).Val()[channel] > 0 })
	quiet(hints)
	if n, err := next.Del(ctx, name).Result(); err != nil || n != 1 {
		t.Fatalf("%d keys deleted, %v, want the lock", n, err)
	}
	wantHint(t, hints, backend.HintFree)
	within(t, "the lock is granted", func() bool {
		a, err := b.Acquire(ctx, request(name, 1))
		return err == nil && a.Granted
	})
}

// heardAt waits until channel is listened to on these servers and on no other.
func heardAt(t *testing.T, c *redistest.Cluster, channel string, want ...*redistest.Server) {
	t.Helper()
	within(t, "the channel is listened to where its slot is", func() bool {
		for _, s := range c.Masters {
			n, err := s.Client().PubSubNumSub(t.Context(), channel).Result()
			if err != nil || (n[channel] > 0) != slices.Contains(want, s) {
				return false
			}
		}
		return true
	})
}

// quiet waits for the hints of what came before.
func quiet(hints chan backend.Hint) {
	for {
		select {
		case <-hints:
		case <-time.After(300 * time.Millisecond):
			return
		}
	}
}
