package redis_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/breaker"
	"github.com/lockgw/lockgw/backend/redis"
	"github.com/lockgw/lockgw/backend/redis/examine"
	"github.com/lockgw/lockgw/backend/redis/redistest"
)

// One master of three is killed. The cluster stops as a whole, as Redis does by default;
// then, set to serve what is left, it is ready in part, and says which part is not.
func TestClusterServesPartly(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, 0)
	b, _ := openAt(t, c.URL(), backend.Node{ID: "n", Incarnation: 1})
	names := namesOn(t, c)
	for _, name := range names {
		r := request(name, 1)
		r.TTL = time.Minute
		if a, err := b.Acquire(t.Context(), r); err != nil || !a.Granted {
			t.Fatalf("acquire = %+v, %v, want granted", a, err)
		}
	}
	dead := c.Masters[2]
	dead.Kill()
	within(t, "a cluster that is down is not ready", func() bool {
		err := b.Ping(t.Context())
		return err != nil && !errors.Is(err, backend.ErrPartly) && strings.Contains(err.Error(), "cluster-require-full-coverage no")
	})
	for _, s := range c.Masters[:2] {
		if err := s.Client().ConfigSet(t.Context(), "cluster-require-full-coverage", "no").Err(); err != nil {
			t.Fatal(err)
		}
	}
	partly := func(b *redis.Backend) {
		t.Helper()
		var err error
		within(t, "the rest is ready", func() bool {
			err = b.Ping(t.Context())
			return errors.Is(err, backend.ErrPartly) && strings.Contains(err.Error(), "1 of 3 masters")
		})
		for _, want := range []string{"5462 of 16384 slots (33 % of the names)", dead.Addr} {
			if !strings.Contains(fmt.Sprint(err), want) {
				t.Errorf("ping = %v, want %q in it", err, want)
			}
		}
	}
	partly(b)
	for _, limit := range []int{1, 10} {
		listed, err := listAll(t, b, limit)
		if !errors.Is(err, backend.ErrPartly) || !strings.Contains(err.Error(), dead.Addr) {
			t.Errorf("list: err = %v, want %v that names %s", err, backend.ErrPartly, dead.Addr)
		}
		if !listed[names[0]] || !listed[names[1]] || listed[names[2]] {
			t.Errorf("listed %v, want %s and %s alone", listed, names[0], names[1])
		}
	}

	// A gateway that is started meanwhile serves what can be served.
	late, err := redis.Open(t.Context(), redis.Config{
		URL: c.URL(), FenceTTL: time.Hour, Guard: redis.GuardQuarantine, Lease: time.Second, Node: backend.Node{ID: "late", Incarnation: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer late.Close()
	late.Listen(func(backend.Hint) {})
	partly(late)
	if e, err := late.Eviction(t.Context()); err != nil || e.Policy != "noeviction" {
		t.Errorf("eviction = %+v, %v, want that of those that answer", e, err)
	}
	if a, err := late.Acquire(t.Context(), request(names[0]+"{"+names[0]+"}", 1)); err != nil || !a.Granted {
		t.Errorf("acquire = %+v, %v, want granted", a, err)
	}
	failed := map[examine.Level]int{}
	for _, f := range examine.Servers(t.Context(), redis.Config{URL: c.URL()}) {
		if failed[f.Level]++; f.Level == examine.Fail && f.Check != "connection" && f.Check != "cluster" {
			t.Errorf("found %+v, want no failure but of the connection and the cluster", f)
		}
	}
	if failed[examine.Fail] != 2 || failed[examine.OK] < 5 {
		t.Errorf("findings by level: %v, want two failures, and what is well with the others", failed)
	}

	gate := breaker.Parts(b, b.Part, slog.New(slog.DiscardHandler))
	for i := range 20 {
		if _, err := gate.Acquire(t.Context(), request("{"+names[2]+"}", uint64(100+i))); err == nil {
			t.Error("granted by a master that is down")
		}
	}
	if now, _ := breaker.StateOf(gate); now != breaker.Open {
		t.Errorf("breaker = %v, want it open for the master that is down", now)
	}
	for i, name := range names[:2] {
		if a, err := gate.Acquire(t.Context(), request("more{"+name+"}", uint64(200+i))); err != nil || !a.Granted {
			t.Errorf("acquire %s = %+v, %v, want granted by a master that is there", name, a, err)
		}
	}

	dead.Restart()
	within(t, "the cluster is well again", func() bool { return b.Ping(t.Context()) == nil })
	if _, err := listAll(t, b, 10); err != nil {
		t.Errorf("list: %v", err)
	}

	// One that hangs takes no time from the others, as a gateway meets them first.
	dead.Pause()
	third, err := redis.Open(t.Context(), redis.Config{
		URL: c.URL(), FenceTTL: time.Hour, Guard: redis.GuardQuarantine, Lease: time.Second, Node: backend.Node{ID: "third", Incarnation: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer third.Close()
	third.Listen(func(backend.Hint) {})
	partly(third)
	dead.Resume()
	for _, s := range c.Masters {
		s.Kill()
	}
	if err := b.Ping(t.Context()); err == nil || errors.Is(err, backend.ErrPartly) {
		t.Errorf("ping without any master: err = %v, want one that is not %v", err, backend.ErrPartly)
	}
	if _, _, err := b.List(t.Context(), "", "", 10); err == nil || errors.Is(err, backend.ErrPartly) {
		t.Errorf("list without any master: err = %v, want one that is not %v", err, backend.ErrPartly)
	}
}

// listAll lists by pages; the error is that of one of them, if any has one.
func listAll(t *testing.T, b *redis.Backend, limit int) (names map[string]bool, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	names = map[string]bool{}
	for cursor := ""; ; {
		page, next, failed := b.List(ctx, "", cursor, limit)
		for _, st := range page {
			names[st.Name] = true
		}
		err = errors.Join(err, failed)
		if cursor = next; cursor == "" || failed != nil && !errors.Is(failed, backend.ErrPartly) {
			return names, err
		}
	}
}
