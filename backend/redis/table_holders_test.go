package redis_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/redis"
	"github.com/lockgw/lockgw/backend/redis/redistest"
)

// shared has n nodes hold name together, each for a minute longer than the one before.
func shared(t testing.TB, a *node, name string, n int) ledger.Reply {
	t.Helper()
	seen := a.look(name)
	for i := range n {
		of := &node{Table: a.Table, t: t, id: fmt.Sprintf("1a8ce011-16f4-4db8-95a3-ae90%08d", i)}
		r, err := a.Swap(t.Context(), of.swapOf(name, seen, ledger.Op{Want: 1, Mode: backend.Shared, TTL: time.Duration(i+1) * time.Minute}))
		if err != nil || !r.Written || r.Record.Firm(of.id) == nil {
			t.Fatalf("holder %d: %+v, %v", i, r, err)
		}
		seen = r
	}
	return seen
}

// Each lease keeps its end, in whatever order a write names the holds.
func TestTableKeepsTheEndsOfMany(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	a := openNode(t, s.URL(), "a", redis.GuardNone)
	const n = 30
	seen := shared(t, a, "x", n)
	for what, order := range map[string]func([]ledger.Hold){
		"the order of before": func([]ledger.Hold) {},
		"the opposite order":  slices.Reverse[[]ledger.Hold],
		"the first at last":   func(h []ledger.Hold) { slices.Reverse(h); slices.Reverse(h[:len(h)-1]) },
	} {
		next := seen.Record.Clone()
		order(next.Holds)
		r, err := a.Swap(t.Context(), ledger.Swap{Name: "x", Base: seen.Version, Record: next})
		if err != nil || !r.Written {
			t.Fatalf("%s: %+v, %v", what, r, err)
		}
		seen = a.look("x")
		for _, told := range []ledger.Reply{r, seen} {
			if len(told.Record.Holds) != n {
				t.Fatalf("%s: %d holds", what, len(told.Record.Holds))
			}
			for _, h := range told.Record.Holds {
				var i int
				if _, err := fmt.Sscanf(h.Node[len(h.Node)-8:], "%08d", &i); err != nil {
					t.Fatal(err)
				}
				if most := time.Duration(i+1) * time.Minute; h.End > most || h.End < most-50*time.Second {
					t.Errorf("%s: the lease of %v ends in %v", what, most, h.End)
				}
			}
		}
	}
}

// Who waits for a lock that has no end looks again while the record with its place is still
// there, however long leases are.
func TestTableKeepsThePlaceBehindALockWithoutEnd(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	rdb := s.Client()
	table, err := redis.OpenTable(redis.Config{URL: redistest.Patient(s.URL()), Node: backend.Node{ID: "a"}, Lease: 10 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = table.Close() })
	table.Listen(func(ledger.Addressed) {})
	rdb.Set(t.Context(), "x", "2", 0)
	stays := func(what string, r ledger.Reply, err error) {
		t.Helper()
		h, left := alien(r), rdb.PTTL(t.Context(), "lockgw:{x}").Val()
		if err != nil || r.Record.Entry("a") == nil || h == nil || left < h.End+10*time.Second {
			t.Errorf("%s: %+v, %v; the record ends in %v", what, r, err, left)
		}
	}
	r, err := table.Join(t.Context(), "x", ledger.Entry{Node: "a", Want: 1}, 0)
	if err != nil {
		t.Fatal(err)
	}
	stays("joined", r, err)
	r, err = table.Look(t.Context(), "x")
	stays("looked", r, err)
	n := &node{Table: table, t: t, id: "a"}
	r, err = n.try("x", ledger.Op{Want: 1, Waiters: 2})
	stays("written", r, err)
}
