package sqltest

import (
	"context"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

// fenced is a table that knows the newest fence of all names.
type fenced interface {
	ledger.Table
	Newest(ctx context.Context) (backend.Fence, error)
}

// Sweep wants that rows that nobody uses go by sweep, those that were idle for so long, and that
// the fences of the next ones are above those of before, also if the clock was set back.
func Sweep(t *testing.T, table fenced, sweep func(ctx context.Context, idle time.Duration) error) {
	t.Helper()
	kept := Held(t, table, "kept")
	high := backend.Fence(1 << 51)
	r, err := Step(t, table, "gone", ledger.Op{Want: 1, Floor: high})
	if err != nil || !r.Written {
		t.Fatal(r, err)
	}
	if _, err := Step(t, table, "gone", ledger.Op{Verb: ledger.Leave, Hold: r.Record.Firm(table.Node()).ID}); err != nil {
		t.Fatal(err)
	}
	if newest, err := table.Newest(t.Context()); err != nil || newest < r.Record.Top {
		t.Errorf("the newest fence is %d, %v, although %d is reserved", newest, err, r.Record.Top)
	}
	if err := sweep(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	if seen, err := table.Look(t.Context(), "gone"); err != nil || seen.Version == "" {
		t.Fatalf("swept although a late request may come: %+v, %v", seen, err)
	}
	if err := sweep(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if seen, err := table.Look(t.Context(), "gone"); err != nil || seen.Version != "" {
		t.Fatalf("still there: %+v, %v", seen, err)
	}
	if seen, err := table.Look(t.Context(), "kept"); err != nil || seen.Record.Firm(table.Node()) == nil || seen.Record.Firm(table.Node()).ID != kept {
		t.Fatalf("what is held was swept: %+v, %v", seen, err)
	}
	if newest, err := table.Newest(t.Context()); err != nil || newest <= high {
		t.Errorf("the newest fence is %d, %v, although %d was given", newest, err, high)
	}
	if next := Held(t, table, "gone"); next <= high {
		t.Errorf("after fence %d came %d", high, next)
	}
}
