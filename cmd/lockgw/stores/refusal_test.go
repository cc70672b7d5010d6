package stores

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/lockgw/lockgw/backend/etcd/etcdtest"
	"github.com/lockgw/lockgw/backend/redis/redistest"
	"github.com/lockgw/lockgw/backend/zookeeper/zktest"
	"github.com/lockgw/lockgw/cmd/lockgw/e2e"
	"github.com/lockgw/lockgw/socket/client"
)

// A store that answers and takes no new lock is no ready one, and what is held goes on, renewed
// unless the store refuses that, too.
func TestRefusingStore(t *testing.T) {
	for name, tt := range map[string]struct {
		begin func(t *testing.T) (url, says string, refuse, relent func())
		all   bool // it refuses renewals, too
	}{
		"redis without memory":    {begin: redisWith("maxmemory", "1", "out of memory")},
		"redis without replicas":  {begin: redisWith("min-replicas-to-write", "1", "fewer replicas"), all: true},
		"etcd without quota":      {begin: etcdWithoutQuota},
		"zookeeper without quota": {begin: zookeeperWithoutQuota},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, says, refuse, relent := tt.begin(t)
			g := start(t, "a", url, ttl)
			holder := g.dial(t, "")
			before := holder.lock(t, "before", 0)
			g.until(t, http.StatusOK, "")
			refuse()
			if _, err := g.dial(t, "").Lock(t.Context(), "new", client.LockOptions{}); !errors.Is(err, client.ErrUnavailable) || !strings.Contains(err.Error(), says) {
				t.Errorf("a new lock: %v, want one that says %q", err, says)
			}
			g.until(t, http.StatusServiceUnavailable, says)
			if code, out := g.doctor(t); code == 0 || !strings.Contains(out, says) {
				t.Errorf("doctor: exit code %d\n%s", code, out)
			}
			left, err := holder.Renew(t.Context(), "before", 0, 0)
			if !tt.all && (err != nil || left < ttl/2) || tt.all && !errors.Is(err, client.ErrUnavailable) {
				t.Errorf("what is held is renewed for %v, %v", left, err)
			}
			relent()
			g.until(t, http.StatusOK, "")
			g.comesIn(t, "new")
			if h := holder.lock(t, "before", 0); h.Fence != before.Fence {
				t.Errorf("what is held has fence %d, and had %d", h.Fence, before.Fence)
			}
		})
	}
}

// What is in place of a Redis and compares nothing is found out before the first lock is
// granted: who asks for one, /readyz and doctor are told, as the store would serve otherwise.
func TestUnsoundStore(t *testing.T) {
	heedless := func() string { return redistest.Heedless(t, redistest.Start(t).Addr, redistest.Versions) }
	for name, url := range map[string]string{
		"redis":   "redis://" + heedless(),
		"redlock": fmt.Sprintf("redlock://%s,%s,%s", heedless(), heedless(), redistest.Start(t).Addr),
	} {
		t.Run(name, func(t *testing.T) {
			const says = "compare-and-set does not work"
			g := prepare(t, "a", url, ttl)
			if err := g.Start(); err != nil {
				t.Fatal(err)
			}
			serves := func() bool {
				resp, err := g.HTTP.Get("http://lockgw/livez")
				if err == nil {
					_ = resp.Body.Close()
				}
				return err == nil
			}
			if e2e.Until(serves); !serves() {
				t.Fatalf("the gateway has not started\n%s", g.Log())
			}
			g.until(t, http.StatusServiceUnavailable, says)
			if _, err := g.dial(t, "").Lock(t.Context(), "new", client.LockOptions{}); !errors.Is(err, client.ErrUnavailable) || !strings.Contains(err.Error(), says) {
				t.Errorf("a new lock: %v", err)
			}
			g.until(t, http.StatusServiceUnavailable, says)
			if code, out := g.doctor(t); code == 0 || !strings.Contains(out, says) {
				t.Errorf("doctor: exit code %d\n%s", code, out)
			}
		})
	}
}

// redisWith is a Redis that refuses by a setting.
func redisWith(setting, value, words string) func(t *testing.T) (url, says string, refuse, relent func()) {
	return func(t *testing.T) (url, says string, refuse, relent func()) {
		s := redistest.Start(t)
		was := s.Client().ConfigGet(t.Context(), setting).Val()[setting]
		set := func(to string) func() {
			return func() {
				if err := s.Client().ConfigSet(t.Context(), setting, to).Err(); err != nil {
					t.Fatal(err)
				}
			}
		}
		return s.URL(), words, set(value), set(was)
	}
}

// etcdWithoutQuota is an etcd that has used up its quota, until it is made smaller.
func etcdWithoutQuota(t *testing.T) (url, says string, refuse, relent func()) {
	s := etcdtest.Start(t, "--quota-backend-bytes=2500000")
	c := etcdtest.Client(t, s)
	refuse = func() {
		var err error
		for i := 0; err == nil && i < 1000; i++ {
			_, err = c.Put(t.Context(), fmt.Sprint("other/", i), strings.Repeat("x", 100_000))
		}
		if err == nil || !strings.Contains(err.Error(), "space exceeded") {
			t.Fatalf("using up the quota: %v", err)
		}
	}
	relent = func() {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		r, err := c.Delete(ctx, "other/", clientv3.WithPrefix())
		if err == nil {
			_, err = c.Compact(ctx, r.Header.Revision, clientv3.WithCompactPhysical())
		}
		if err == nil {
			_, err = c.Defragment(ctx, s.Addr)
		}
		if err == nil {
			_, err = c.AlarmDisarm(ctx, &clientv3.AlarmMember{})
		}
		if err != nil {
			t.Fatalf("giving back the quota: %v", err)
		}
	}
	return etcdtest.URL(s), "quota", refuse, relent
}

// zookeeperWithoutQuota is a ZooKeeper that has a quota for the chroot, which is used up.
func zookeeperWithoutQuota(t *testing.T) (url, says string, refuse, relent func()) {
	s := zktest.StartQuotas(t)
	c := zktest.Client(t, s)
	const quota = "/zookeeper/quota/lockgw"
	paths := []string{quota, quota + "/zookeeper_stats", quota + "/zookeeper_limits"}
	refuse = func() {
		for i, text := range []string{"", "count=1000,bytes=0", "count=-1,bytes=-1=;byteHardLimit=-1;countHardLimit=1"} {
			if _, err := c.Create(paths[i], []byte(text), 0, zk.WorldACL(zk.PermAll)); err != nil {
				t.Fatal(err)
			}
		}
	}
	relent = func() {
		for _, path := range slices.Backward(paths) {
			if err := c.Delete(path, -1); err != nil {
				t.Fatal(err)
			}
		}
	}
	return "zookeeper://" + s.Addr + "?tick=200ms", "quota", refuse, relent
}
