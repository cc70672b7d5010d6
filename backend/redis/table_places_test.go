package redis_test

import (
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/redis"
	"github.com/lockgw/lockgw/backend/redis/redistest"
)

// Who waits for a name that nobody has keeps its place as long as a quarantine may last: nothing is
// written until that is over.
func TestTableKeepsPlaces(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	const lease = 10 * time.Minute
	table, err := redis.OpenTable(redis.Config{URL: redistest.Patient(s.URL()), Guard: redis.GuardQuarantine, Lease: lease, Node: backend.Node{ID: "a"}})
	if err != nil {
		t.Fatal(err)
	}
	n := &node{Table: table, t: t, id: "a", told: make(chan ledger.Addressed, 1000)}
	t.Cleanup(func() { _ = table.Close() })
	n.Listen(func(m ledger.Addressed) { n.told <- m })
	n.hears("", ledger.Resync)
	n.takes("x")
	n.does("x", ledger.Op{Verb: ledger.Leave})
	left := func(queue ...ledger.Entry) time.Duration {
		seen := n.look("x")
		next := seen.Record.Clone()
		next.Queue = queue
		if r, err := n.Swap(t.Context(), ledger.Swap{Name: "x", Base: seen.Version, Record: next}); err != nil || !r.Written {
			t.Fatal(r, err)
		}
		return s.Client().PTTL(t.Context(), "lockgw:{x}").Val()
	}
	if d := left(ledger.Entry{Node: "b", Want: 1}); d < lease {
		t.Errorf("a place in the queue is kept for %v, want more than %v", d, lease)
	}
	if d := left(); d > time.Minute {
		t.Errorf("the record of a name that nobody uses stays for %v", d)
	}
}
