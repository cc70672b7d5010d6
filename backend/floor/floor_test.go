package floor_test

import (
	"context"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/floor"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/memory"
)

// take gives the name to the node of t and returns its fence.
func take(t *testing.T, table ledger.Table, name string) backend.Fence {
	t.Helper()
	there, err := table.Look(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	op := ledger.Op{Verb: ledger.Sync, Node: table.Node(), Want: 1, Turns: 64, TTL: time.Minute}
	next, effects := ledger.Step(there.Record, op, 0)
	r, err := table.Swap(t.Context(), ledger.Swap{Name: name, Base: there.Version, Record: next, Effects: effects})
	if err != nil || !r.Written {
		t.Fatalf("%+v, %v", r, err)
	}
	return r.Record.Firm(table.Node()).ID
}

// The fences of a store that takes over are above those of the one before, even if the
// clock of that one was a day ahead.
func TestFencesGoOn(t *testing.T) {
	past := memory.NewRows()
	past.Raise(backend.Fence(time.Now().Add(20 * time.Hour).UnixMicro()))
	before := memory.OpenTable(past, "a")
	old := take(t, before, "x")
	least, err := floor.Of(t.Context(), before, time.Now())
	if err != nil || least <= old+backend.Fence((23*time.Hour).Microseconds()) {
		t.Fatalf("%d after %d, %v", least, old, err)
	}
	if next := take(t, memory.OpenTable(memory.NewRows(), "a"), "x"); next > old {
		t.Fatalf("without a floor the fence is %d after %d: this test shows nothing", next, old)
	}
	after := floor.New(memory.OpenTable(memory.NewRows(), "a"), least)
	if next := take(t, after, "x"); next <= least {
		t.Errorf("fence %d, want above %d", next, least)
	}
	if next := take(t, after, "y"); next <= least {
		t.Errorf("of another name fence %d, want above %d", next, least)
	}
}

// keeper knows of a fence that no record has any more.
type keeper struct {
	ledger.Table
	newest backend.Fence
}

func (k keeper) Newest(context.Context) (backend.Fence, error) { return k.newest, nil }

// Where the store keeps the newest fence, that counts.
func TestFloorOfKeeper(t *testing.T) {
	now := time.Now()
	kept := backend.Fence(now.Add(48 * time.Hour).UnixMicro())
	least, err := floor.Of(t.Context(), keeper{memory.OpenTable(memory.NewRows(), "a"), kept}, now)
	if want := kept + backend.Fence(floor.Ahead.Microseconds()); err != nil || least != want {
		t.Errorf("%d, %v, want %d", least, err, want)
	}
}

// An empty store says the time, and as much more.
func TestFloorOfNothing(t *testing.T) {
	now := time.Now()
	least, err := floor.Of(t.Context(), memory.OpenTable(memory.NewRows(), "a"), now)
	if want := backend.Fence(now.Add(floor.Ahead).UnixMicro()); err != nil || least != want {
		t.Errorf("%d, %v, want %d", least, err, want)
	}
}
