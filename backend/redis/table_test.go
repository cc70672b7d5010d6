package redis_test

import (
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/redis"
	"github.com/lockgw/lockgw/backend/redis/redistest"
	"github.com/lockgw/lockgw/backend/tabletest"
)

// tableQuarantine has room for what a test does while it lasts.
const tableQuarantine = 6 * time.Second

// openTable is a Table of a node over the Redis at url.
func openTable(t testing.TB, url, node, guard string) *redis.Table {
	t.Helper()
	table, err := redis.OpenTable(redis.Config{URL: url, Node: backend.Node{ID: node}, Guard: guard, Lease: tableQuarantine})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = table.Close() })
	return table
}

// heard is a Table whose Listen returns once it hears all servers: who listens in earnest
// looks again when a Resync comes, and a test does not.
type heard struct {
	*redis.Table
	servers int
}

func (h heard) Listen(f func(ledger.Addressed)) {
	listens := make(chan struct{}, 1000)
	h.Table.Listen(func(m ledger.Addressed) {
		if m.Kind == ledger.Resync {
			listens <- struct{}{}
		}
		f(m)
	})
	for range h.servers {
		<-listens
	}
}

func suite(t *testing.T, url, guard string, servers int) {
	tabletest.Run(t, func(t *testing.T, node string) ledger.Table {
		return heard{openTable(t, redistest.Patient(url), node, guard), servers}
	})
}

func TestTable(t *testing.T) {
	t.Parallel()
	for _, guard := range []string{redis.GuardNone, redis.GuardQuarantine} {
		t.Run(guard, func(t *testing.T) {
			s := redistest.Start(t)
			suite(t, s.URL(), guard, 1)
		})
	}
}

// A write whose answer is lost with the connection may have been carried out.
func TestTableLostAnswers(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	tabletest.LostAnswers(t, s.Addr, func(t *testing.T, addr, node string) ledger.Table {
		return openTable(t, "redis://"+addr, node, redis.GuardQuarantine)
	})
}

func TestTableOnCluster(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, 0)
	tabletest.Run(t, func(t *testing.T, node string) ledger.Table {
		return openTable(t, redistest.Patient(c.URL()), node, redis.GuardQuarantine)
	})
}

func TestTableBehindSentinels(t *testing.T) {
	t.Parallel()
	w := redistest.StartWatched(t, 1)
	tabletest.Run(t, func(t *testing.T, node string) ledger.Table {
		return openTable(t, redistest.Patient(w.URL()), node, redis.GuardQuarantine)
	})
}

// node is one gateway's Table.
type node struct {
	*redis.Table
	t    testing.TB
	id   string
	told chan ledger.Addressed
}

// openNode is a node that asks once, and waits for the answer.
func openNode(t testing.TB, url, id, guard string) *node {
	t.Helper()
	return openImpatient(t, redistest.Patient(url), id, guard)
}

// openImpatient is a node that waits for an answer as long as a gateway does.
func openImpatient(t testing.TB, url, id, guard string) *node {
	t.Helper()
	n := &node{Table: openTable(t, url, id, guard), t: t, id: id, told: make(chan ledger.Addressed, 1000)}
	n.Listen(func(m ledger.Addressed) { n.told <- m })
	n.hears("", ledger.Resync)
	return n
}

// hears waits for a message about name.
func (n *node) hears(name string, k ledger.Kind) {
	n.t.Helper()
	limit := time.After(time.Minute)
	for {
		select {
		case m := <-n.told:
			if m.Name == name && m.Kind == k {
				return
			}
		case <-limit:
			n.t.Fatalf("%s is not told %d about %q", n.id, k, name)
		}
	}
}

func (n *node) look(name string) ledger.Reply {
	n.t.Helper()
	r, err := n.Look(n.t.Context(), name)
	if err != nil {
		n.t.Fatal(err)
	}
	return r
}

// swapOf is op as it would be written after seen.
func (n *node) swapOf(name string, seen ledger.Reply, op ledger.Op) ledger.Swap {
	op.Node, op.Turns, op.Lapse = n.id, max(op.Turns, 1), true
	if op.TTL == 0 {
		op.TTL = 30 * time.Second
	}
	op.OfferTTL = time.Second
	if h := seen.Record.Firm(n.id); h != nil && op.Verb != ledger.Break && op.Hold == 0 {
		op.Hold = h.ID
	}
	next, effects := ledger.Step(seen.Record, op, 0)
	return ledger.Swap{Name: name, Base: seen.Version, Record: next, Effects: effects, Absolute: op.Restore}
}

func (n *node) try(name string, op ledger.Op) (ledger.Reply, error) {
	n.t.Helper()
	return n.Swap(n.t.Context(), n.swapOf(name, n.look(name), op))
}

func (n *node) does(name string, op ledger.Op) ledger.Reply {
	n.t.Helper()
	r, err := n.try(name, op)
	if err != nil || !r.Written {
		n.t.Fatalf("%s %v %s: %+v, %v", n.id, op.Verb, name, r, err)
	}
	return r
}

// takes has n granted a name that is free.
func (n *node) takes(name string) *ledger.Hold {
	n.t.Helper()
	r := n.does(name, ledger.Op{Want: 1})
	h := r.Record.Firm(n.id)
	if h == nil {
		n.t.Fatalf("%s was not granted %s: %+v", n.id, name, r)
	}
	return h
}

func (n *node) leaves(name string) ledger.Reply {
	n.t.Helper()
	return n.does(name, ledger.Op{Verb: ledger.Leave})
}
