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
	"github.com/lockgw/lockgw/backend/redis"
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
		{"any master may drop locks", clusterEviction},
		{"doctor looks at all masters", clusterDoctor},
		{"a subscription that is cut or half-dead", clusterSubscriptions},
		{"a master that is new", clusterNewMaster},
	} {
		t.Run(tt.name, func(t *testing.T) { tt.run(t, c) })
	}
}

func clusterRenewsAndLists(t *testing.T, c *redistest.Cluster) {
	b, _ := openAt(t, c.URL(), backend.Node{ID: "n", Incarnation: 1})
	var rs []backend.Renewal
	var want []string
	for i := range 40 {
		r := request(fmt.Sprintf("many-%d", i), 1)
		a, err := b.Acquire(t.Context(), r)
		if err != nil || !a.Granted {
			t.Fatalf("acquire %s = %+v, %v, want granted", r.Name, a, err)
		}
		rs, want = append(rs, backend.Renewal{Name: r.Name, Hold: a.Hold, TTL: time.Minute}), append(want, r.Name)
	}
	rs[7].Hold++
	errs, err := b.Renew(t.Context(), rs)
	if err != nil {
		t.Fatalf("renew: %v", err)
	}
	for i, err := range errs {
		if i == 7 && !errors.Is(err, backend.ErrNotHeld) || i != 7 && err != nil {
			t.Errorf("renew %s: %v", rs[i].Name, err)
		}
	}
	if st, err := b.Inspect(t.Context(), "many-3"); err != nil || st.TTL < 50*time.Second {
		t.Errorf("inspect = %+v, %v, want the lease that was renewed", st, err)
	}
	var listed []string
	pages := 0
	for cursor := ""; ; pages++ {
		page, next, err := b.List(t.Context(), "many-", cursor, 1)
		if err != nil {
			t.Fatalf("list: %v", err)
		}
		for _, st := range page {
			listed = append(listed, st.Name)
		}
		if cursor = next; next == "" {
			break
		}
	}
	slices.Sort(listed)
	slices.Sort(want)
	if !slices.Equal(slices.Compact(listed), want) {
		t.Errorf("listed %q, want %q", listed, want)
	}
	for _, cursor := range []string{"x", "@", "1x@y"} {
		if _, _, err := b.List(t.Context(), "", cursor, 1); !errors.Is(err, backend.ErrInvalid) {
			t.Errorf("list from %q: err = %v, want %v", cursor, err, backend.ErrInvalid)
		}
	}
}

func clusterMasterHangs(t *testing.T, c *redistest.Cluster) {
	b, _ := openAt(t, c.URL(), backend.Node{ID: "n", Incarnation: 2})
	names := namesOn(t, c)
	var rs []backend.Renewal
	for _, name := range names {
		r := request("hang:{"+name+"}", 1)
		r.TTL = time.Minute
		a, err := b.Acquire(t.Context(), r)
		if err != nil || !a.Granted {
			t.Fatalf("acquire = %+v, %v, want granted", a, err)
		}
		rs = append(rs, backend.Renewal{Name: r.Name, Hold: a.Hold, TTL: time.Minute})
	}
	hung := c.Masters[2]
	hung.Pause()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	errs, err := b.Renew(ctx, rs)
	ping := b.Ping(ctx)
	hung.Resume()
	if err != nil || errs[0] != nil || errs[1] != nil || !errors.Is(errs[2], backend.ErrUnavailable) {
		t.Errorf("renew = %v, %v, want an error of the last alone", errs, err)
	}
	if ping == nil || !strings.Contains(ping.Error(), hung.Addr) {
		t.Errorf("ping: err = %v, want one about %s", ping, hung.Addr)
	}
	within(t, "the cluster is well again", func() bool { return b.Ping(t.Context()) == nil })
	within(t, "all are renewed", func() bool {
		errs, err := b.Renew(t.Context(), rs)
		return err == nil && errors.Join(errs...) == nil
	})
}

// A request is led to where its slot was moved without an error.
func clusterFollows(t *testing.T, c *redistest.Cluster) {
	b, _ := openAt(t, c.URL(), backend.Node{ID: "n", Incarnation: 8})
	for i := range 3 {
		from := c.Owner("led")
		c.Move("led", from, other(c, from))
		if a, err := b.Acquire(t.Context(), request(fmt.Sprintf("{led}%d", i), 1)); err != nil || !a.Granted {
			t.Errorf("acquire = %+v, %v, want granted", a, err)
		}
	}
}

// A slot whose move was begun and not ended serves no new locks, but others are not
// held up, and a hold whose keys are all there is renewed.
func clusterStuckSlot(t *testing.T, c *redistest.Cluster) {
	b, _ := openAt(t, c.URL(), backend.Node{ID: "n", Incarnation: 4})
	a, err := b.Acquire(t.Context(), request("stuck", 1))
	if err != nil || !a.Granted {
		t.Fatalf("acquire = %+v, %v, want granted", a, err)
	}
	from := c.Owner("stuck")
	c.OpenMove("stuck", from, other(c, from))
	if errs, err := b.Renew(t.Context(), []backend.Renewal{{Name: "stuck", Hold: a.Hold, TTL: time.Minute}}); err != nil || errs[0] != nil {
		t.Errorf("renew = %v, %v, want renewed", errs, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := b.Acquire(ctx, request("{stuck}2", 1)); !errors.Is(err, backend.ErrUnavailable) {
			t.Errorf("acquire in the slot: err = %v, want %v", err, backend.ErrUnavailable)
		}
	})
	for i := range 20 {
		r := request(fmt.Sprintf("beside-%d", i), 1)
		if a, err := b.Acquire(ctx, r); err != nil || !a.Granted {
			t.Errorf("acquire %s = %+v, %v, want granted", r.Name, a, err)
		}
	}
	wg.Wait()
	half := from.Client().Eval(t.Context(), "redis.call('pexpire', KEYS[1], 9000) redis.call('del', KEYS[1]) return redis.call('exists', KEYS[1])", []string{"stuck"})
	if err := redis.Outcome(half.Err()); !errors.Is(err, backend.ErrUnavailable) {
		t.Errorf("a script that missed a key half-way: err = %v, want %v", err, backend.ErrUnavailable)
	}
	c.Move("stuck", from, other(c, from))
	within(t, "the slot is served again", func() bool {
		a, err := b.Acquire(t.Context(), request("{stuck}2", 2))
		return err == nil && a.Granted
	})
}

func clusterEviction(t *testing.T, c *redistest.Cluster) {
	b, _ := openAt(t, c.URL(), backend.Node{ID: "n", Incarnation: 5})
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
