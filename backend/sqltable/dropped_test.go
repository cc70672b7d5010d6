package sqltable

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

// What is written again and again and not stored is told, unless there is a reason for it.
func TestWritesAreDropped(t *testing.T) {
	t.Parallel()
	there := func(end time.Duration) ledger.Reply {
		return ledger.Reply{Version: "5", Record: ledger.Record{Holds: []ledger.Hold{{Node: "b", ID: 3, End: end}}}}
	}
	base := ledger.Swap{Name: "n", Base: "5", Effects: ledger.Effects{Ended: []backend.Fence{3}}}
	for name, tt := range map[string]struct {
		says    func(n int) (r ledger.Reply, trusted bool, err error)
		asks    int
		dropped bool
	}{
		"it is dropped":        {func(int) (ledger.Reply, bool, error) { return there(-1), true, nil }, drops, true},
		"another was first":    {func(int) (ledger.Reply, bool, error) { return ledger.Reply{Version: "6"}, true, nil }, 1, false},
		"the row is gone":      {func(int) (ledger.Reply, bool, error) { return ledger.Reply{}, true, nil }, 1, false},
		"a lease goes on":      {func(int) (ledger.Reply, bool, error) { return there(time.Millisecond), true, nil }, 1, false},
		"it is not trusted":    {func(int) (ledger.Reply, bool, error) { return there(-1), false, nil }, 1, false},
		"it is written":        {func(int) (ledger.Reply, bool, error) { return ledger.Reply{Version: "5", Written: true}, true, nil }, 1, false},
		"written the 2nd time": {func(n int) (ledger.Reply, bool, error) { r := there(-1); r.Written = n == 2; return r, true, nil }, 2, false},
		"a lease has just run out": {func(n int) (ledger.Reply, bool, error) {
			return ledger.Reply{Version: map[bool]ledger.Version{true: "5", false: "6"}[n < drops]}, true, nil
		}, drops, false},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			table, err := New(Config{Node: backend.Node{ID: "a"}}, Database{
				MaxNode: 1, Product: "It", Names: "names",
				Swap: func(context.Context, ledger.Swap, Run) (ledger.Reply, bool, error) { asked++; return tt.says(asked) },
			})
			if err != nil {
				t.Fatal(err)
			}
			defer table.Close()
			r, _, err := table.carryOut(t.Context(), base, Run{})
			if told := errors.Is(err, backend.ErrRefused) && strings.Contains(err.Error(), "It does not store what is written about n,"); told != tt.dropped || asked != tt.asks {
				t.Errorf("asked %d times, and then %+v, %v; want %d times", asked, r, err, tt.asks)
			}
		})
	}
}
