package voting

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgw/lockgw/backend/boottime"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/memory"
)

// A program outside lockgw that has got a name on a majority is waited for, although a write that
// came at the same time has got to another server.
func TestOutsideOnAllButOne(t *testing.T) {
	for range 20 { // by whichever servers answer first
		synctest.Test(t, outsideOnAllButOne)
	}
}

func outsideOnAllButOne(t *testing.T) {
	stores := []*memory.Rows{memory.NewRows(), memory.NewRows(), memory.NewRows()}
	got := value{first: ballot{50, "a"}, record: ledger.Record{Top: 5, Holds: []ledger.Hold{{Node: "a", Count: 1, ID: 5, Block: 5}}}, stamps: []ledger.Stamp{{ID: 5, TTL: time.Minute}}}
	one := acceptor{table: memory.OpenTable(stores[2], "a"), name: "x", server: 2, clock: boottime.Now}
	if _, err := one.accept(t.Context(), got.first, &got); err != nil {
		t.Fatal(err)
	}
	b := over(t, stores, "b")
	for i, s := range b.tables[:2] {
		b.tables[i] = taken{s, new(atomic.Bool)}
	}
	for range 3 {
		seen, err := b.Look(t.Context(), "x")
		if err != nil {
			t.Fatal(err)
		}
		next, effects := ledger.Step(seen.Record, ledger.Op{Node: "b", Want: 1, Turns: 4, TTL: time.Minute}, 0)
		r, err := b.Swap(t.Context(), ledger.Swap{Name: "x", Base: seen.Version, Record: next, Effects: effects})
		if err != nil || len(r.Record.Holds) != 1 || !r.Record.Holds[0].Foreign() {
			t.Fatalf("there is %+v, %v", r, err)
		}
		if r.Record.Entry("b") != nil {
			return
		}
	}
	t.Error("b cannot wait")
}
