package voting

import (
	"context"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

// deaf is a server that no renewal reaches.
type deaf struct{ ledger.Table }

func (deaf) Renew(context.Context, []ledger.Renewal) ([]error, error) {
	return nil, backend.ErrUnreachable
}

// A hold is ended for its time only where a majority has said that it is up: not where one of
// them has said that it goes on for a while, the next one took that long to answer, and the hold
// was renewed meanwhile. The time that passes is not that of synctest.
func TestRenewedWhileOthersAreAsked(t *testing.T) {
	t.Parallel()
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
	if err := w.renew(a, r); err != nil {
		t.Skipf("the machine is too slow to renew in time: %v", err)
	}
	ends := w.since() + leaseOf - marginOf
	time.Sleep(leaseOf * 3 / 4)
	got, err := c.Look(t.Context(), "x")
	if w.since() < ends && (err != nil || got.Record.Firm("a") == nil) {
		t.Errorf("the hold of a was ended, and goes on: %+v, %v", got, err)
	}
}
