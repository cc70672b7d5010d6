package etcd

import (
	"fmt"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/etcd/etcdtest"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/quorum"
)

// crowd is a name that n nodes share, each under a lease of its own, of which etcd knows none.
func crowd(n int) (r quorum.Row) {
	for i := range n {
		r.Record.Top++
		h := ledger.Hold{Node: fmt.Sprint("crowd-", i), Mode: backend.Shared, Count: 1, ID: r.Record.Top, Block: r.Record.Top}
		r.Record.Holds = append(r.Record.Holds, h)
		r.Ends = append(r.Ends, quorum.End{ID: h.ID, TTL: time.Second, Under: fmt.Sprint(i + 1)})
	}
	return r
}

// Where more nodes have a name than etcd takes parts in a transaction, the next one queues, which is
// told to all of them; and if they are all dead, it is granted, but not while one lives.
func TestCrowd(t *testing.T) {
	t.Parallel()
	s := etcdtest.Start(t)
	a := guarded(t, s, "a", time.Minute)
	a.Take("other")
	raw := etcdtest.Client(t, s)
	for _, n := range []int{150, 400} {
		name, row := fmt.Sprint("n-", n), crowd(n)
		if _, err := raw.Put(t.Context(), a.keys.record(name), row.Text()); err != nil {
			t.Fatal(err)
		}
		last := row.Ends[n-1].Under
		if _, err := raw.Put(t.Context(), a.keys.alive(last), ""); err != nil {
			t.Fatal(err)
		}
		r, err := a.Try(name, ledger.Op{Want: 1})
		if err != nil || !r.Written || len(r.Record.Queue) != 1 || len(r.Unheard) != n {
			t.Fatalf("behind %d it queues: %v, %v; %d do not hear of it", n, r.Written, err, len(r.Unheard))
		}
		if r, err := a.Try(name, ledger.Op{Want: 1, Lapse: true}); err != nil || r.Written || r.Record.Firm("crowd-0") == nil {
			t.Errorf("one of %d lives, and it is granted: %v, %v", n, r.Written, err)
		}
		if _, err := raw.Delete(t.Context(), a.keys.alive(last)); err != nil {
			t.Fatal(err)
		}
		a.Take(name)
	}
}

// Where many nodes that have a name are dead and many wait, those are served by whoever comes, as
// many of either as there are.
func TestCrowdThatWaits(t *testing.T) {
	t.Parallel()
	s := etcdtest.Start(t)
	a := guarded(t, s, "a", time.Minute)
	a.Take("other")
	raw := etcdtest.Client(t, s)
	for n := 40; n <= 200; n += 20 {
		name, row := fmt.Sprint("n-", n), crowd(n)
		row.Record.Size = n
		for i := range row.Record.Holds {
			h := &row.Record.Holds[i]
			h.Mode = backend.Mode(n)
			row.Record.Queue = append(row.Record.Queue, ledger.Entry{Node: fmt.Sprint("waits-", i), Mode: h.Mode, Want: 1})
		}
		if _, err := raw.Put(t.Context(), a.keys.record(name), row.Text()); err != nil {
			t.Fatal(err)
		}
		r, err := a.Try(name, ledger.Op{Want: 1, Mode: backend.Mode(n), Lapse: true})
		if err != nil || !r.Written || r.Record.Offer("waits-0") == nil || len(r.Unheard) != n {
			t.Errorf("%d are dead, and %d wait: %v, %v; %d do not hear of it", n, n, r.Written, err, len(r.Unheard))
		}
	}
}
