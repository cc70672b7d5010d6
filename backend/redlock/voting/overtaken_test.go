package voting

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/lockgw/lockgw/backend/ledger"
)

// tardy is a server that writes arrive at once they may.
type tardy struct {
	ledger.Table
	may chan struct{}
}

func (s tardy) Swap(_ context.Context, w ledger.Swap) (ledger.Reply, error) {
	<-s.may
	return s.Table.Swap(context.Background(), w)
}

// A write of the holder by which its lease would be a short one, and which one server gets after
// the renewal that followed, does not take from that server what the renewal has given.
func TestRenewalOvertakesWrite(t *testing.T) { synctest.Test(t, renewalOvertakesWrite) }

func renewalOvertakesWrite(t *testing.T) {
	w := three()
	a := w.table(t, "a")
	r := w.granted(t, a)
	late := tardy{a.tables[0], make(chan struct{})}
	a.tables[0] = late
	short := ledger.Op{Hold: r.ID, Keep: 1, TTL: leaseOf / 4, Extend: true}
	if reply, err := w.do(a, short); err != nil || !reply.Written {
		t.Fatalf("not written: %+v, %v", reply, err)
	}
	a.tables[2] = deaf{a.tables[2]}
	if err := w.renew(a, r); err != nil {
		return // a server that may get a write later does not count
	}
	close(late.may)
	synctest.Wait()
	c := w.table(t, "c")
	c.tables[1] = silent{c.tables[1]}
	seen, err := c.Look(t.Context(), "x")
	if h := seen.Record.Firm("a"); err != nil || h == nil || h.End < leaseOf-marginOf {
		t.Errorf("a has renewed its lease, and a majority says %+v, %v", seen, err)
	}
}
