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
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/redis"
	"github.com/lockgw/lockgw/backend/redis/redistest"
)

// One master of three is killed. The cluster stops as a whole, as Redis does by default;
// then, set to serve what is left, it is ready in part, and says which part is not.
func TestTableServesPartly(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, 0)
	a := openImpatient(t, c.URL(), "a", redis.GuardNone)
	names := namesOn(t, c)
	for _, name := range names {
		a.takes(name)
	}
	dead := c.Masters[2]
	dead.Kill()
	within(t, "a cluster that is down is not ready", func() bool {
		err := a.Ping(t.Context())
		return err != nil && !errors.Is(err, backend.ErrPartly) && strings.Contains(err.Error(), "cluster-require-full-coverage no")
	})
	for _, s := range c.Masters[:2] {
		if err := s.Client().ConfigSet(t.Context(), "cluster-require-full-coverage", "no").Err(); err != nil {
			t.Fatal(err)
		}
	}
	partly := func(table *redis.Table) {
		t.Helper()
		var err error
		within(t, "the rest is ready", func() bool {
			err = table.Ping(t.Context())
			return errors.Is(err, backend.ErrPartly) && strings.Contains(err.Error(), "1 of 3 masters")
		})
		for _, want := range []string{"5462 of 16384 slots (33 % of the names)", dead.Addr} {
			if !strings.Contains(fmt.Sprint(err), want) {
				t.Errorf("ping = %v, want %q in it", err, want)
			}
		}
	}
	partly(a.Table)
	for _, limit := range []int{1, 10} {
		listed, err := listTable(t, a, limit)
		if !errors.Is(err, backend.ErrPartly) || !strings.Contains(err.Error(), dead.Addr) {
			t.Errorf("list: err = %v, want %v that names %s", err, backend.ErrPartly, dead.Addr)
		}
		if !listed[names[0]] || !listed[names[1]] || listed[names[2]] {
			t.Errorf("listed %v, want %s and %s alone", listed, names[0], names[1])
		}
	}

	// A gateway that is started meanwhile serves what can be served.
	late := &node{Table: openTable(t, c.URL(), "late", redis.GuardQuarantine), t: t, id: "late"}
	late.Listen(func(ledger.Addressed) {})
	partly(late.Table)
	if e, err := late.Eviction(t.Context()); err != nil || e.Policy != "noeviction" {
		t.Errorf("eviction = %+v, %v, want that of those that answer", e, err)
	}
	late.takes(names[0] + "{" + names[0] + "}")

	gate := breaker.Parts(a, a.Part, a.Ping, slog.New(slog.DiscardHandler))
	ask := func(name string) error {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := gate.Swap(ctx, a.swapOf(name, ledger.Reply{}, ledger.Op{Want: 1}))
		return err
	}
	for i := range 20 {
		if err := ask(fmt.Sprintf("%d{%s}", i, names[2])); err == nil {
			t.Error("granted by a master that is down")
		}
	}
	if now, _ := breaker.StateOf(gate); now != breaker.Open {
		t.Errorf("breaker = %v, want it open for the master that is down", now)
	}
	for _, name := range names[:2] {
		if err := ask("more{" + name + "}"); err != nil {
			t.Errorf("%s: %v, want an answer of a master that is there", name, err)
		}
	}

	dead.Restart()
	within(t, "the cluster is well again", func() bool { return a.Ping(t.Context()) == nil })
	if _, err := listTable(t, a, 10); err != nil {
		t.Errorf("list: %v", err)
	}

	// One that hangs takes no time from the others, as a gateway meets them first.
	dead.Pause()
	third := openTable(t, c.URL(), "third", redis.GuardQuarantine)
	third.Listen(func(ledger.Addressed) {})
	partly(third)
	dead.Resume()
	for _, s := range c.Masters {
		s.Kill()
	}
	if err := a.Ping(t.Context()); err == nil || errors.Is(err, backend.ErrPartly) {
		t.Errorf("ping without any master: err = %v, want one that is not %v", err, backend.ErrPartly)
	}
	if _, _, err := a.List(t.Context(), "", "", 10); err == nil || errors.Is(err, backend.ErrPartly) {
		t.Errorf("list without any master: err = %v, want one that is not %v", err, backend.ErrPartly)
	}
}

// listTable lists by pages; the error is that of one of them, if any has one.
func listTable(t *testing.T, table ledger.Table, limit int) (names map[string]bool, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	names = map[string]bool{}
	for cursor := ""; ; {
		page, next, failed := table.List(ctx, "", cursor, limit)
		for _, n := range page {
			names[n.Name] = true
		}
		err = errors.Join(err, failed)
		if cursor = next; cursor == "" || failed != nil && !errors.Is(failed, backend.ErrPartly) {
			return names, err
		}
	}
}
