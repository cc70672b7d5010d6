package voting

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/boottime"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/memory"
)

// deaf is a server that no renewal reaches.
type deaf struct{ ledger.Table }

func (deaf) Renew(context.Context, []ledger.Renewal) ([]error, error) {
	return nil, backend.ErrUnreachable
}

// A hold is ended for its time only where a majority has said that it is up: not where one of
// them has said that it goes on for a while, the next one took that long to answer, and the hold
// was renewed meanwhile. The time that passes is not that of synctest, so that a busy machine may
// be too slow to renew in time.
func TestRenewedWhileOthersAreAsked(t *testing.T) {
	t.Parallel()
	for range 10 {
		if renewedWhileOthersAreAsked(t) {
			return
		}
	}
	t.Error("the hold was never renewed in time")
}

func renewedWhileOthersAreAsked(t *testing.T) (inTime bool) {
	w := three()
	a := w.table(t, "a")
	without := func(node string, i int) *Table {
		n := w.table(t, node)
		n.tables[i] = silent{n.tables[i]}
		return n
	}
	b, c := without("b", 1), without("c", 0)
	r := w.granted(t, a)
	a.tables[2] = deaf{a.tables[2]}
	seen, err := b.Look(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	next, effects := ledger.Step(seen.Record, ledger.Op{Node: "b", Want: 1, Turns: 4, TTL: leaseOf, Lapse: true}, leaseOf)
	w.servers[2].hang(leaseOf + leaseOf/8)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), leaseOf+leaseOf/4)
		defer cancel()
		_, _ = b.Swap(ctx, ledger.Swap{Name: "x", Base: seen.Version, Record: next, Effects: effects})
	}()
	time.Sleep(leaseOf / 2)
	if w.renew(a, r) != nil {
		return false
	}
	ends := w.since() + leaseOf - marginOf
	time.Sleep(leaseOf * 3 / 4)
	got, err := c.Look(t.Context(), "x")
	if w.since() >= ends {
		return false
	}
	if err != nil || got.Record.Firm("a") == nil {
		t.Errorf("the hold of a was ended, and goes on: %+v, %v", got, err)
	}
	return true
}

// taken is a server on which a program outside lockgw has the lock, until it gives it back.
type taken struct {
	ledger.Table
	back *atomic.Bool
}

func (s taken) tell(r ledger.Reply, err error) (ledger.Reply, error) {
	if !s.back.Load() {
		r.Record.Holds = append(slices.Clone(r.Record.Holds), ledger.Hold{Count: 1, End: time.Minute})
	}
	return r, err
}

func (s taken) Look(ctx context.Context, name string) (ledger.Reply, error) {
	return s.tell(s.Table.Look(ctx, name))
}

func (s taken) Swap(ctx context.Context, w ledger.Swap) (ledger.Reply, error) {
	w.Record = inside(w.Record)
	return s.tell(s.Table.Swap(ctx, w))
}

// A write that one server has accepted, and that others cannot be had for any more, is not told
// as one that was not made and made later: neither where there is a record, nor where there is none.
func TestWriteThatIsGivenUp(t *testing.T) {
	for name, there := range map[string]bool{"a record": true, "none": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { writeThatIsGivenUp(t, there) })
		})
	}
}

func writeThatIsGivenUp(t *testing.T, there bool) {
	stores := []*memory.Rows{memory.NewRows(), memory.NewRows(), memory.NewRows()}
	var free atomic.Bool
	open := func(node string, silence int) *Table {
		n := over(t, stores, node)
		for i, s := range n.tables {
			if i < 2 {
				n.tables[i] = taken{s, &free}
			}
		}
		if silence >= 0 {
			n.tables[silence] = silent{n.tables[silence]}
		}
		return n
	}
	free.Store(true)
	var first ledger.Reply
	var err error
	if there {
		first, err = open("a", -1).Swap(t.Context(), ledger.Swap{Name: "x", Record: ledger.Record{Queue: []ledger.Entry{{Node: "a", Want: 1}}}})
		if err != nil || !first.Written {
			t.Fatalf("no record: %+v, %v", first, err)
		}
	}
	next, effects := ledger.Step(first.Record, ledger.Op{Node: "b", Want: 1, Turns: 4, TTL: time.Minute}, 0)
	b := &proposal{t: open("b", 2), name: "x", swap: &ledger.Swap{Name: "x", Base: first.Version, Record: next, Effects: effects}}
	rows := b.t.look(t.Context(), "x", b.t.agreed).rows
	x := read(rows, newest(rows), 3, boottime.Now())
	b.value, b.sent, b.above = x.value(ballot{50, "b"}, b.swap), true, 50
	one := acceptor{table: memory.OpenTable(stores[2], "b"), name: "x", server: 2, clock: boottime.Now}
	if err := one.promise(t.Context(), b.value.first); err != nil {
		t.Fatal(err)
	}
	if _, err := one.accept(t.Context(), b.value.first, b.value); err != nil {
		t.Fatal(err)
	}
	synctest.Wait() // for requests whose answers nobody needed
	free.Store(false)
	told, err := b.run(t.Context())
	synctest.Wait()
	free.Store(true)
	later, failed := open("c", 0).Look(t.Context(), "x")
	if err != nil || told.Written || failed != nil || later.Record.Has("b") {
		t.Errorf("told %+v, %v; later there is %+v, %v", told, err, later, failed)
	}
}
