package selftest_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/memory"
	"github.com/lockgw/lockgw/backend/selftest"
)

func TestRun(t *testing.T) {
	latest := func(table ledger.Table, s ledger.Swap) ledger.Swap {
		r, err := table.Look(t.Context(), s.Name)
		if err != nil {
			t.Fatal(err)
		}
		s.Base = r.Version
		return s
	}
	for name, tt := range map[string]struct {
		swap func(ledger.Table, ledger.Swap) (ledger.Reply, error)
		want string // in the error; "": none
	}{
		"sound": {swap: func(table ledger.Table, s ledger.Swap) (ledger.Reply, error) { return table.Swap(t.Context(), s) }},
		"does not compare versions": {
			swap: func(table ledger.Table, s ledger.Swap) (ledger.Reply, error) {
				return table.Swap(t.Context(), latest(table, s))
			},
			want: "in the place of another",
		},
		"does not look at the clock": {
			swap: func(table ledger.Table, s ledger.Swap) (ledger.Reply, error) {
				s.Effects.Ended = nil
				return table.Swap(t.Context(), s)
			},
			want: "before its time",
		},
		"forgets": {
			swap: func(_ ledger.Table, s ledger.Swap) (ledger.Reply, error) {
				return ledger.Reply{Record: s.Record, Written: true}, nil
			},
			want: "and then has another one",
		},
		"never writes": {
			swap: func(table ledger.Table, s ledger.Swap) (ledger.Reply, error) { return table.Look(t.Context(), s.Name) },
			want: "same state_dir",
		},
		"does not answer": {
			swap: func(ledger.Table, ledger.Swap) (ledger.Reply, error) { return ledger.Reply{}, backend.ErrUnavailable },
			want: "store unavailable",
		},
	} {
		t.Run(name, func(t *testing.T) {
			table := memory.OpenTable(memory.NewRows(), "a")
			broken := func(_ context.Context, s ledger.Swap) (ledger.Reply, error) { return tt.swap(table, s) }
			err := selftest.Run(t.Context(), selftest.Store{Look: table.Look, Swap: broken}, "a")
			switch {
			case tt.want == "" && err != nil:
				t.Fatal(err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Fatalf("err = %v, want one with %q", err, tt.want)
			case tt.want != "" && tt.want != "store unavailable" && !errors.Is(err, backend.ErrRefused):
				t.Errorf("err = %v, want %v", err, backend.ErrRefused)
			}
			if r, err := table.Look(t.Context(), selftest.Name("a")); tt.want == "" && (err != nil || len(r.Record.Holds) != 0) {
				t.Errorf("it leaves %+v, %v", r, err)
			}
		})
	}
}

// A store that forgets in the midst of it, as one that fails over, is not unsound.
func TestRunOverAFailover(t *testing.T) {
	for requests := range 8 {
		tables := []ledger.Table{memory.OpenTable(memory.NewRows(), "a"), memory.OpenTable(memory.NewRows(), "a")}
		n := 0
		present := func() ledger.Table {
			if n++; n > requests {
				return tables[1]
			}
			return tables[0]
		}
		s := selftest.Store{
			Look: func(ctx context.Context, name string) (ledger.Reply, error) { return present().Look(ctx, name) },
			Swap: func(ctx context.Context, s ledger.Swap) (ledger.Reply, error) { return present().Swap(ctx, s) },
		}
		if err := selftest.Run(t.Context(), s, "a"); err != nil {
			t.Errorf("after %d requests: %v", requests, err)
		}
	}
}
