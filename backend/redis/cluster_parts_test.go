package redis_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/redis"
	"github.com/lockgw/lockgw/backend/redis/conn"
	"github.com/lockgw/lockgw/backend/redis/examine"
	"github.com/lockgw/lockgw/backend/redis/redistest"
)

// These share a cluster of three masters, one after the other.
func TestCluster(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, 0)
	for _, tt := range []struct {
		name string
		run  func(*testing.T, *redistest.Cluster)
	}{
		{"locks of all masters are renewed and listed", clusterRenewsAndLists},
		{"a master that hangs holds up no other", clusterMasterHangs},
		{"Redisson is told, and heard where the slot is", clusterRedisson},
		{"what becomes of a string key is heard where its slot is", clusterKeyspace},
		{"a request follows its slot", clusterFollows},
		{"a slot that is stuck half-way", clusterStuckSlot},
		{"names of a slot are renewed while some of them were moved", clusterRenewsHalfMoved},
		{"any master may drop locks", clusterEviction},
		{"doctor looks at all masters", clusterDoctor},
		{"a subscription that is cut or half-dead", clusterSubscriptions},
		{"a master that is new", clusterNewMaster},
	} {
		t.Run(tt.name, func(t *testing.T) { tt.run(t, c) })
	}
}

func clusterRenewsAndLists(t *testing.T, c *redistest.Cluster) {
	n := openNode(t, c.URL(), "n", redis.GuardNone)
	var rs []ledger.Renewal
	var want []string
	for i := range 40 {
		name := fmt.Sprintf("many-%d", i)
		rs, want = append(rs, ledger.Renewal{Name: name, ID: n.takes(name).ID, TTL: time.Minute}), append(want, name)
	}
	rs[7].ID++
	errs, err := n.Renew(t.Context(), rs)
	if err != nil {
		t.Fatalf("renew: %v", err)
	}
	for i, err := range errs {
		if i == 7 && !errors.Is(err, backend.ErrNotHeld) || i != 7 && err != nil {
			t.Errorf("renew %s: %v", rs[i].Name, err)
		}
	}
	if r := n.look("many-3"); r.Record.Firm("n") == nil || r.Record.Firm("n").End < 50*time.Second {
		t.Errorf("look = %+v, want the lease that was renewed", r)
	}
	listed, err := listTable(t, n, 1)
	if err != nil {
		t.Fatalf("list: %v", err)
	}
	for _, name := range want {
		if !listed[name] {
			t.Errorf("%s is not listed", name)
		}
	}
}

func clusterMasterHangs(t *testing.T, c *redistest.Cluster) {
	n := openImpatient(t, c.URL(), "n", redis.GuardNone)
	var rs []ledger.Renewal
	for _, name := range namesOn(t, c) {
		name = "hang:{" + name + "}"
		rs = append(rs, ledger.Renewal{Name: name, ID: n.takes(name).ID, TTL: time.Minute})
	}
	hung := c.Masters[2]
	hung.Pause()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	errs, err := n.Renew(ctx, rs)
	ping := n.Ping(ctx)
	hung.Resume()
	if err != nil || errs[0] != nil || errs[1] != nil || !errors.Is(errs[2], backend.ErrUnavailable) {
		t.Errorf("renew = %v, %v, want an error of the last alone", errs, err)
	}
	if ping == nil || !strings.Contains(ping.Error(), hung.Addr) {
		t.Errorf("ping: err = %v, want one about %s", ping, hung.Addr)
	}
	within(t, "the cluster is well again", func() bool { return n.Ping(t.Context()) == nil })
	within(t, "all are renewed", func() bool {
		errs, err := n.Renew(t.Context(), rs)
		return err == nil && errors.Join(errs...) == nil
	})
}

// A request is led to where its slot was moved without an error.
func clusterFollows(t *testing.T, c *redistest.Cluster) {
	n := openNode(t, c.URL(), "n", redis.GuardNone)
	for i := range 3 {
		from := c.Owner("led")
		c.Move("led", from, other(c, from))
		n.takes(fmt.Sprintf("{led}%d", i))
	}
}

// A slot whose move was begun and not ended serves no new locks, but others are not
// held up, and a hold whose keys are all there is renewed.
func clusterStuckSlot(t *testing.T, c *redistest.Cluster) {
	n := openNode(t, c.URL(), "n", redis.GuardNone)
	h := n.takes("stuck")
	from := c.Owner("stuck")
	c.OpenMove("stuck", from, other(c, from))
	if err := n.renews("stuck", h); err != nil {
		t.Errorf("renew = %v, want renewed", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	var wg sync.WaitGroup
	wg.Go(func() {
		r, err := n.Swap(ctx, n.swapOf("{stuck}2", ledger.Reply{}, ledger.Op{Want: 1}))
		if err == nil {
			t.Errorf("take in the slot: %+v, want no answer", r)
		}
	})
	for i := range 20 {
		n.takes(fmt.Sprintf("beside-%d", i))
	}
	wg.Wait()
	half := from.Client().Eval(t.Context(), "redis.call('pexpire', KEYS[1], 9000) redis.call('del', KEYS[1]) return redis.call('exists', KEYS[1])", []string{"stuck"})
	if err := conn.Outcome(half.Err()); !errors.Is(err, backend.ErrUnavailable) {
		t.Errorf("a script that missed a key half-way: err = %v, want %v", err, backend.ErrUnavailable)
	}
	c.Move("stuck", from, other(c, from))
	within(t, "the slot is served again", func() bool {
		r, err := n.Swap(t.Context(), n.swapOf("{stuck}2", ledger.Reply{}, ledger.Op{Want: 1}))
		return err == nil && r.Record.Firm("n") != nil
	})
}

// Each lock whose keys are in one place is renewed, whatever others there are in its slot.
func clusterRenewsHalfMoved(t *testing.T, c *redistest.Cluster) {
	n := openNode(t, c.URL(), "n", redis.GuardNone)
	var rs []ledger.Renewal
	for i := range 8 {
		name := fmt.Sprintf("{half}%d", i)
		rs = append(rs, ledger.Renewal{Name: name, ID: n.takes(name).ID, TTL: time.Minute})
	}
	rs[1].ID++
	from := c.Owner("half")
	to := other(c, from)
	c.OpenMove("half", from, to)
	for _, r := range rs[:4] {
		c.MoveKeys(from, to, r.Name, "lockgw:lockgw:"+r.Name)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	errs, err := n.Renew(ctx, rs)
	if err != nil || len(errs) != len(rs) {
		t.Fatalf("renew = %v, %v", errs, err)
	}
	for i, err := range errs {
		if i == 1 && !errors.Is(err, backend.ErrNotHeld) || i != 1 && err != nil {
			t.Errorf("renew %s: %v", rs[i].Name, err)
		}
	}
	c.Move("half", from, to)
}

func clusterEviction(t *testing.T, c *redistest.Cluster) {
	b := openNode(t, c.URL(), "n", redis.GuardNone)
	bad := c.Masters[1].Client()
	set := func(limit, policy string) {
		t.Helper()
		if err := errors.Join(bad.ConfigSet(t.Context(), "maxmemory", limit).Err(), bad.ConfigSet(t.Context(), "maxmemory-policy", policy).Err()); err != nil {
			t.Fatal(err)
		}
	}
	if e, err := b.Eviction(t.Context()); err != nil || e.Err() != nil || e.Policy != "noeviction" {
		t.Errorf("eviction = %+v, %v, want noeviction", e, err)
	}
	set("100mb", "allkeys-lru")
	defer set("0", "noeviction")
	if e, err := b.Eviction(t.Context()); err != nil || e.Err() == nil || !strings.Contains(e.Err().Error(), c.Masters[1].Addr) {
		t.Errorf("eviction = %+v, %v, want that of %s", e, err, c.Masters[1].Addr)
	}
}

func clusterDoctor(t *testing.T, c *redistest.Cluster) {
	bad := c.Masters[1]
	if err := bad.Client().ConfigSet(t.Context(), "timeout", "300").Err(); err != nil {
		t.Fatal(err)
	}
	defer bad.Client().ConfigSet(t.Context(), "timeout", "0")
	for _, s := range c.Masters {
		setUser := []any{"acl", "setuser", "enough", "on", ">p"}
		for _, rule := range strings.Fields(fmt.Sprintf(examine.NeededRights, "app:")) {
			setUser = append(setUser, rule)
		}
		if err := s.Client().Do(t.Context(), setUser...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	warned := false
	url := strings.Replace(c.URL(), "://", "://enough:p@", 1)
	for _, f := range examine.Servers(t.Context(), redis.Config{URL: url, KeyPrefix: "app:"}) {
		switch {
		case f.Level == examine.Fail:
			t.Errorf("found %+v, want no failure", f)
		case f.Check == "cluster" && (f.Level != examine.OK || !strings.Contains(f.Detail, "3 masters, 16384 of 16384")):
			t.Errorf("found %+v, want it ok", f)
		case f.Check == "timeout":
			warned = f.Level == examine.Warn && strings.Contains(f.Detail, bad.Addr) && !strings.Contains(f.Detail, c.Masters[0].Addr)
		}
	}
	if !warned {
		t.Errorf("nothing was found about the timeout of %s alone", bad.Addr)
	}
}

// A waiter behind a Redisson program hears of its release by SPUBLISH, also after the
// slot was moved; and Redisson hears of ours.
func clusterRedisson(t *testing.T, c *redistest.Cluster) {
	n := openNode(t, c.URL(), "n", redis.GuardNone)
	ctx := t.Context()
	const name, channel = "java", "redisson_lock__channel:{java}"
	for _, moves := range []int{0, 1, 2} { // and 2: there and back
		home := c.Owner(name)
		before, rdb := home, home.Client()
		rdb.HSet(ctx, name, "7c8a1f3e-1111-4222-8333-444455556666:52", 1)
		rdb.PExpire(ctx, name, time.Minute)
		if r := n.does(name, ledger.Op{Want: 1}); alien(r) == nil {
			t.Fatalf("take = %+v, want to wait for another program", r)
		}
		listeners := func(s *redistest.Server) int64 { return s.Client().PubSubShardNumSub(ctx, channel).Val()[channel] }
		within(t, "the channel is listened to", func() bool { return listeners(home) == 1 })
		home = moved(c, name, home, before, moves)
		if moves > 0 {
			within(t, "the channel is listened to where the slot is now", func() bool { return listeners(home) == 1 })
		}
		rdb = home.Client()
		rdb.Del(ctx, name)
		n.drain()
		rdb.SPublish(ctx, channel, "0")
		n.hears(name, ledger.Look)
		n.takes(name)
		ps := rdb.SSubscribe(ctx, channel)
		if _, err := ps.Receive(ctx); err != nil {
			t.Fatal(err)
		}
		n.leaves(name)
		if m, err := ps.ReceiveMessage(ctx); err != nil || m.Payload != "0" {
			t.Errorf("Redisson hears %v, %v, want 0", m, err)
		}
		_ = ps.Close()
	}
}

// moved has the slot of name move so many times, there and back, and returns where it is.
func moved(c *redistest.Cluster, name string, home, before *redistest.Server, moves int) *redistest.Server {
	for there := range moves {
		to := other(c, home)
		if there == 1 {
			to = before
		}
		c.Move(name, home, to)
		home = to
	}
	return home
}

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
	n := openNode(t, c.URL(), "n", redis.GuardNone)
	const name, channel = "other-program", "__keyspace@0__:other-program"
	for _, moves := range []int{0, 1, 2} {
		home := c.Owner(name)
		home.Client().SetNX(ctx, name, "secret", time.Minute)
		if r := n.does(name, ledger.Op{Want: 1}); alien(r) == nil {
			t.Fatalf("take = %+v, want to wait for another program", r)
		}
		heardAt(t, c, channel, home)
		home = moved(c, name, home, home, moves)
		heardAt(t, c, channel, home)
		n.quiet()
		if deleted := home.Client().Del(ctx, name).Val(); deleted != 1 {
			t.Fatalf("%d keys deleted, want the lock", deleted)
		}
		n.hears(name, ledger.Look)
		n.takes(name)
		n.leaves(name)
		heardAt(t, c, channel)
	}
}

// It is listened to on the replica that takes over.
func TestClusterKeyspaceAfterFailover(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, 1, "--notify-keyspace-events", "Kg")
	n := openNode(t, c.URL(), "n", redis.GuardNone)
	name := namesOn(t, c)[0]
	ctx, channel := t.Context(), "__keyspace@0__:"+name
	c.Masters[0].Client().SetNX(ctx, name, "secret", time.Minute)
	n.does(name, ledger.Op{Want: 1})
	heardAt(t, c, channel, c.Masters[0])
	redistest.Stop(t, c.Masters[0], c.Replicas[0])
	next := c.Replicas[0].Client()
	within(t, "the channel is listened to on the replica", func() bool { return next.PubSubNumSub(ctx, channel).Val()[channel] > 0 })
	n.quiet()
	if deleted, err := next.Del(ctx, name).Result(); err != nil || deleted != 1 {
		t.Fatalf("%d keys deleted, %v, want the lock", deleted, err)
	}
	n.hears(name, ledger.Look)
	within(t, "the lock is granted", func() bool {
		seen, err := n.Look(ctx, name)
		if err != nil {
			return false
		}
		r, err := n.Swap(ctx, n.swapOf(name, seen, ledger.Op{Want: 1}))
		return err == nil && r.Record.Firm("n") != nil
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

// quiet waits for the messages of what came before.
func (n *node) quiet() {
	for {
		select {
		case <-n.told:
		case <-time.After(300 * time.Millisecond):
			return
		}
	}
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
	n := openImpatient(t, "redis+cluster://"+c.Masters[0].Addr+","+c.Masters[2].Addr, "n", redis.GuardNone)
	within(t, "the node listens", func() bool { return n.Ping(t.Context()) == nil })

	n.drain()
	if killed := victim.Client().ClientKillByFilter(t.Context(), "TYPE", "pubsub").Val(); killed == 0 {
		t.Error("nobody listens on the master")
	}
	n.hears("", ledger.Resync)
	within(t, "the node listens again", func() bool { return n.Ping(t.Context()) == nil })

	n.drain()
	link.SetPresent(redistest.BlackHole)
	n.hears("", ledger.Resync)
	within(t, "the node listens again", func() bool { return n.Ping(t.Context()) == nil })
}

// A node listens on a master that joins the cluster, as soon as that has a slot.
func clusterNewMaster(t *testing.T, c *redistest.Cluster) {
	a := openNode(t, c.URL(), "a", redis.GuardNone)
	within(t, "the node listens", func() bool { return a.Ping(t.Context()) == nil })
	added := c.Add()
	from := c.Owner("new")
	a.drain()
	c.Move("new", from, added)
	a.hears("", ledger.Resync)
	a.takes("new")
	b := openNode(t, c.URL(), "b", redis.GuardNone)
	within(t, "the second listens", func() bool { return b.Ping(t.Context()) == nil })
	b.does("new", ledger.Op{Want: 1})
	a.leaves("new")
	b.hears("new", ledger.Look)
}
