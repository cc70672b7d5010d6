package memory_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/memory"
	"github.com/lockgw/lockgw/backend/tabletest"
)

func TestTable(t *testing.T) {
	rows := memory.NewRows()
	tabletest.Run(t, func(_ *testing.T, node string) ledger.Table { return memory.OpenTable(rows, node) })
}

func step(t *testing.T, table ledger.Table, op ledger.Op) (ledger.Reply, error) {
	t.Helper()
	seen, err := table.Look(t.Context(), "n")
	if err != nil {
		t.Fatal(err)
	}
	op.Node, op.Turns, op.TTL = "a", 1, 30*time.Second
	next, effects := ledger.Step(seen.Record, op, 0)
	return table.Swap(t.Context(), ledger.Swap{Name: "n", Base: seen.Version, Record: next, Effects: effects, Absolute: op.Restore})
}

// A paused store grants nothing, and takes back what the node says that it held.
func TestPausedRows(t *testing.T) {
	rows := memory.NewRows()
	table := memory.OpenTable(rows, "a")
	rows.Pause(time.Hour)
	_, err := step(t, table, ledger.Op{Want: 1})
	var later *backend.Later
	if !errors.As(err, &later) || !errors.Is(err, backend.ErrRefused) || later.After <= 59*time.Minute {
		t.Fatalf("granted while paused: %v", err)
	}
	if seen, err := table.Look(t.Context(), "n"); err != nil || !strings.Contains(seen.Refusing, "journal") {
		t.Errorf("look = %+v, %v, want why nothing is granted", seen, err)
	}
	if table.Ping(t.Context()) == nil {
		t.Error("a paused store says that it serves")
	}
	if _, err := table.Join(t.Context(), "n", ledger.Entry{Node: "a", Want: 1}, 0); err != nil {
		t.Errorf("nobody may wait while paused: %v", err)
	}
	if _, err := step(t, table, ledger.Op{Verb: ledger.Leave}); err != nil {
		t.Errorf("nobody may leave while paused: %v", err)
	}
	r, err := step(t, table, ledger.Op{Verb: ledger.Reclaim, Hold: 7, Keep: 1, Restore: true, Floor: 70})
	if err != nil || !r.Written || r.Record.Firm("a") == nil {
		t.Errorf("a hold that lives on is not taken back: %+v, %v", r, err)
	}
	rows.Pause(0)
	if table.Ping(t.Context()) != nil {
		t.Error("still paused")
	}
}

// Names that nobody uses are forgotten, and their fences go on growing all the same.
func TestRowsForget(t *testing.T) {
	rows := memory.NewRows()
	table := memory.OpenTable(rows, "a")
	r, err := step(t, table, ledger.Op{Want: 1, Floor: 1 << 52})
	if err != nil || !r.Written {
		t.Fatal(r, err)
	}
	high := r.Record.Top
	if _, err := step(t, table, ledger.Op{Verb: ledger.Leave, Hold: r.Record.Firm("a").ID}); err != nil {
		t.Fatal(err)
	}
	if seen, _ := table.Look(t.Context(), "n"); seen.Version != "" {
		t.Fatalf("still there: %+v", seen)
	}
	if r, err := step(t, table, ledger.Op{Want: 1}); err != nil || r.Record.Firm("a").ID <= high {
		t.Errorf("after fence %d came %+v, %v", high, r, err)
	}
}

// Fences go on above those of the process before, whatever the clock says: of new names, and
// of one whose hold is taken up again.
func TestRaise(t *testing.T) {
	const mark = 1 << 52 // the clock was set back
	rows := memory.NewRows()
	table := memory.OpenTable(rows, "a")
	rows.Raise(mark)
	rows.Raise(7) // nothing to raise
	r, err := step(t, table, ledger.Op{Verb: ledger.Reclaim, Hold: 7, Keep: 1, Restore: true, Floor: 70})
	if err != nil || !r.Written || r.Record.Firm("a") == nil || r.Record.Firm("a").ID != 7 {
		t.Fatalf("a hold that lives on: %+v, %v", r, err)
	}
	if r.Clock < mark {
		t.Errorf("the clock says %d, which is below %d", r.Clock, mark)
	}
	next, effects := ledger.Step(r.Record, ledger.Op{Node: "a", Hold: 7, Keep: 1, Extend: true, Turns: 1, Floor: backend.Fence(r.Clock)}, 0)
	r, err = table.Swap(t.Context(), ledger.Swap{Name: "n", Base: r.Version, Record: next, Effects: effects})
	if err != nil || !r.Written || r.Record.Firm("a").Block <= mark {
		t.Errorf("the next block begins with %+v, %v", r.Record, err)
	}
	for _, name := range []string{"new", "joined"} {
		seen := ledger.Reply{}
		if name == "joined" {
			if seen, err = table.Join(t.Context(), name, ledger.Entry{Node: "a", Want: 1}, 0); err != nil {
				t.Fatal(err)
			}
		}
		next, effects := ledger.Step(seen.Record, ledger.Op{Node: "a", Want: 1, Turns: 1, TTL: time.Minute}, 0)
		r, err := table.Swap(t.Context(), ledger.Swap{Name: name, Base: seen.Version, Record: next, Effects: effects})
		if err != nil || !r.Written || r.Record.Firm("a").ID <= mark {
			t.Errorf("%s: after fence %d came %+v, %v", name, mark, r.Record, err)
		}
	}
}
