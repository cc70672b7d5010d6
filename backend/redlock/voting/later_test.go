package voting

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/boottime"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/memory"
)

// resting is a server that grants nothing yet, as after a restart.
type resting struct {
	ledger.Table
	rest time.Duration
}

func (r resting) Swap(context.Context, ledger.Swap) (ledger.Reply, error) {
	return ledger.Reply{}, &backend.Later{Err: fmt.Errorf("%w: restarted", backend.ErrRefused), After: r.rest}
}

// over is a Table of node over the stores, of which the first grant nothing for these times.
func over(t *testing.T, stores []*memory.Rows, node string, rests ...time.Duration) *Table {
	t.Helper()
	var tables []ledger.Table
	for i, s := range stores {
		table := ledger.Table(memory.OpenTable(s, node))
		if i < len(rests) {
			table = resting{table, rests[i]}
		}
		tables = append(tables, table)
	}
	all := New(tables)
	t.Cleanup(func() { _ = all.Close() })
	return all
}

// A server that grants nothing for a while holds up no write that the others can agree
// about, also if another round has come before; if they cannot, it is told when they will.
func TestServersThatRest(t *testing.T) {
	for _, tt := range []struct {
		servers int
		rests   []time.Duration
		after   time.Duration // 0: it is written
	}{
		{3, []time.Duration{time.Hour}, 0},
		{3, []time.Duration{2 * time.Hour, time.Hour}, time.Hour},
		{5, []time.Duration{time.Hour, time.Hour}, 0},
		{5, []time.Duration{3 * time.Hour, time.Hour, 2 * time.Hour}, time.Hour},
	} {
		t.Run(fmt.Sprint(tt.servers, tt.rests), func(t *testing.T) {
			var stores []*memory.Rows
			for range tt.servers {
				stores = append(stores, memory.NewRows())
			}
			record := ledger.Record{Top: 1, Holds: []ledger.Hold{{Node: "a", Count: 1, ID: 1}}}
			write := ledger.Swap{Name: "x", Record: record, Absolute: true}
			other := over(t, stores, "b")
			for range 3 { // so that servers have promised rounds that the next one has not heard of
				if _, err := other.Swap(t.Context(), write); err != nil {
					t.Fatal(err)
				}
			}
			for i := range tt.rests { // these have come back empty
				stores[i] = memory.NewRows()
			}
			p := &proposal{t: over(t, stores, "a", tt.rests...), name: "x", swap: &write}
			_, err := p.run(t.Context())
			var later *backend.Later
			switch {
			case tt.after == 0 && err != nil:
				t.Errorf("not written: %v", err)
			case tt.after > 0 && (!errors.As(err, &later) || later.After != tt.after):
				t.Errorf("err = %v, want one that says %v", err, tt.after)
			}
		})
	}
}

// silent is a server that hangs.
type silent struct{ ledger.Table }

func (silent) Look(ctx context.Context, _ string) (ledger.Reply, error) {
	<-ctx.Done()
	return ledger.Reply{}, backend.ErrUnavailable
}

// Where a majority does not answer, that is told, for the breaker to know. Where it answers
// and refuses, the store is there.
func TestServersThatHang(t *testing.T) {
	for name, tt := range map[string]struct {
		wrap        func(i int, t ledger.Table) ledger.Table
		unreachable bool
	}{
		"two hang": {func(i int, t ledger.Table) ledger.Table {
			if i > 0 {
				return silent{t}
			}
			return t
		}, true},
		"one hangs, one rests": {func(i int, t ledger.Table) ledger.Table {
			return [...]ledger.Table{t, silent{t}, resting{t, time.Hour}}[i]
		}, true},
		"two rest": {func(i int, t ledger.Table) ledger.Table {
			return [...]ledger.Table{t, resting{t, time.Hour}, resting{t, time.Hour}}[i]
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var tables []ledger.Table
				for i := range 3 {
					tables = append(tables, tt.wrap(i, memory.OpenTable(memory.NewRows(), "a")))
				}
				all := New(tables)
				defer all.Close()
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				defer cancel()
				_, err := all.Swap(ctx, ledger.Swap{Name: "x", Record: ledger.Record{Top: 1, Holds: []ledger.Hold{{Node: "a", Count: 1, ID: 1}}}, Absolute: true})
				if !errors.Is(err, backend.ErrRefused) || errors.Is(err, backend.ErrUnreachable) != tt.unreachable {
					t.Errorf("swap = %v, want one of which a majority did not hear: %t", err, tt.unreachable)
				}
			})
		})
	}
}

// Where another round has come between, a server that hangs is not waited for: those that
// answer are enough for the next round.
func TestContentionBesideServerThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tables []ledger.Table
		for range 3 {
			tables = append(tables, memory.OpenTable(memory.NewRows(), "a"))
		}
		other := acceptor{table: tables[0], name: "x", clock: boottime.Now}
		if err := other.promise(t.Context(), ballot{7, "other"}); err != nil {
			t.Fatal(err)
		}
		tables[2] = silent{tables[2]}
		all := New(tables)
		defer all.Close()
		began := time.Now()
		r, err := all.Swap(t.Context(), ledger.Swap{Name: "x", Record: ledger.Record{Top: 1, Holds: []ledger.Hold{{Node: "a", Count: 1, ID: 1}}}, Absolute: true})
		if d := time.Since(began); err != nil || !r.Written || d > time.Second {
			t.Errorf("after %v: %+v, %v", d, r, err)
		}
	})
}
