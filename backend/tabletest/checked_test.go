package tabletest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/memory"
	"github.com/lockgw/lockgw/backend/tabletest"
)

// What the fixtures of tests see of a request.
func TestChecked(t *testing.T) {
	rows := memory.NewRows()
	var asked []string
	table := &tabletest.Checked{Table: memory.OpenTable(rows, "a"), Before: func(_ context.Context, a tabletest.Asked) error {
		asked = append(asked, fmt.Sprint(a.Verb, " ", a.Name, a.New(), a.GivesBack()))
		if a.Verb == "ping" {
			return backend.ErrUnavailable
		}
		return nil
	}}
	next, effects := ledger.Step(ledger.Record{}, ledger.Op{Node: "a", Want: 1, Turns: 1, TTL: 1e9}, 0)
	r, err := table.Swap(t.Context(), ledger.Swap{Name: "n", Record: next, Effects: effects})
	if err != nil || !r.Written {
		t.Fatal(r, err)
	}
	next, effects = ledger.Step(r.Record, ledger.Op{Verb: ledger.Leave, Node: "a"}, 0)
	if r, err := table.Swap(t.Context(), ledger.Swap{Name: "n", Base: r.Version, Record: next, Effects: effects}); err != nil || !r.Written {
		t.Fatal(r, err)
	}
	_, _ = table.Join(t.Context(), "n", ledger.Entry{Node: "a", Want: 1}, 0)
	if err := table.Ping(t.Context()); !errors.Is(err, backend.ErrUnavailable) {
		t.Errorf("ping = %v, want the answer of the check", err)
	}
	want := []string{"swap ntrue false", "swap nfalse true", "join ntrue false", "ping false false"}
	if !slices.Equal(asked, want) {
		t.Errorf("asked %q, want %q", asked, want)
	}
}
