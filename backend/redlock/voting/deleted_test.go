package voting

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/boottime"
	"github.com/lockgw/lockgw/backend/ledger"
)

// three are servers of which locks can be deleted, and that can hang.
func three() *world {
	w := &world{began: time.Now()}
	for i := range 3 {
		s := &server{w: w, number: i, speed: 1000}
		s.forget()
		w.servers = append(w.servers, s)
	}
	return w
}

func (w *world) table(t *testing.T, node string) *Table {
	var places []ledger.Table
	for _, s := range w.servers {
		places = append(places, s.of(node))
	}
	all := New(places)
	all.clock = w.since
	t.Cleanup(func() { _ = all.Close() })
	return all
}

// granted is the hold of t, which all servers know.
func (w *world) granted(t *testing.T, all *Table) ledger.Renewal {
	t.Helper()
	r, err := w.do(all, ledger.Op{Want: 1})
	h := r.Record.Firm(all.Node())
	if err != nil || h == nil {
		t.Fatalf("not granted: %+v, %v", r, err)
	}
	all.wg.Wait()
	return ledger.Renewal{Name: "x", ID: h.ID, TTL: leaseOf}
}

func (w *world) renew(all *Table, r ledger.Renewal) error {
	ctx, cancel := context.WithTimeout(context.Background(), leaseOf/3)
	defer cancel()
	errs, err := all.Renew(ctx, []ledger.Renewal{r})
	if err != nil {
		return err
	}
	return errs[0]
}

// A lock that was deleted on one server is written there again at once, where another server
// hangs and a majority needs it.
func TestDeletedBesideServerThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := three()
		a := w.table(t, "a")
		r := w.granted(t, a)
		w.servers[0].unlock()
		w.servers[2].hang(time.Second)
		if err := w.renew(a, r); err != nil {
			t.Errorf("renewed beside a server that hangs: %v", err)
		}
	})
}

// Who has seen that a majority lacks a lock does not write over it when it is there again.
func TestDeletedAndWrittenAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := three()
		a, b := w.table(t, "a"), w.table(t, "b")
		r := w.granted(t, a)
		for _, s := range w.servers[:2] {
			s.unlock()
		}
		w.servers[2].hang(leaseOf / 10)
		seen, err := b.Look(t.Context(), "x")
		if err != nil || len(seen.Record.Holds) > 0 {
			t.Fatalf("a lock that a majority lacks: %+v, %v", seen, err)
		}
		b.wg.Wait()
		w.servers[0].hang(time.Second)
		if err = w.renew(a, r); err != nil {
			err = w.renew(a, r)
		}
		if err != nil {
			t.Fatalf("not renewed by the two that answer: %v", err)
		}
		next, effects := ledger.Step(seen.Record, ledger.Op{Node: "b", Want: 1, Turns: 4, TTL: leaseOf}, 0)
		got, err := b.Swap(t.Context(), ledger.Swap{Name: "x", Base: seen.Version, Record: next, Effects: effects})
		if err != nil || got.Written || got.Record.Firm("a") == nil {
			t.Errorf("b has written over the hold of a, which was renewed: %+v, %v", got, err)
		}
	})
}

// A server that a program outside lockgw has taken the lock on does not hide the hold that others
// have, whichever of them answers first.
func TestTakenWhereItWasReadFirst(t *testing.T) {
	at := vote{accepted: ballot{7, "a"}, holds: []backend.Fence{5}}
	has := &row{vote: at, server: 1, record: ledger.Record{Top: 5, Holds: []ledger.Hold{{Node: "a", Count: 1, ID: 5, End: leaseOf}}}}
	lacks := &row{vote: at, record: ledger.Record{Top: 5, Holds: []ledger.Hold{{Count: 1, End: leaseOf}}}}
	for _, rows := range [][]*row{{has, lacks}, {lacks, has}} {
		if x := read(rows, at, 3, boottime.Now()); x.record.Firm("a") == nil || len(x.record.Holds) != 1 {
			t.Errorf("server %d first: there is %+v", rows[0].server+1, x.record)
		}
	}
}
