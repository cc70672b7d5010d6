package sqltest

import (
	"context"
	"fmt"
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
	top := Left(t, table, "gone")
	if newest, err := table.Newest(t.Context()); err != nil || newest < top {
		t.Errorf("the newest fence is %d, %v, although %d is reserved", newest, err, top)
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

// SweepMany wants that all rows which nobody uses go by one sweep, although only so many go at once:
// before the next sweep as many may come. copies makes n rows like that of a name, which have names
// with -1, -2 and so on behind it.
func SweepMany(t *testing.T, table ledger.Table, sweep func(ctx context.Context, idle time.Duration) error, atOnce int, copies func(name string, n int)) {
	t.Helper()
	Left(t, table, "gone")
	copies("gone", 2*atOnce+atOnce/2)
	if err := sweep(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		name := fmt.Sprint("gone-", i*atOnce/2+1)
		if seen, err := table.Look(t.Context(), name); err != nil || seen.Version != "" {
			t.Errorf("%s is still there: %+v, %v", name, seen, err)
		}
	}
}

// SweepKeepsQueue wants that a row with a queue alone stays as long as somebody in it listens: while
// nothing new is granted, nobody has the name for longer than rows stay, and those who wait for it keep
// their places.
func SweepKeepsQueue(t *testing.T, table ledger.Table, sweep func(ctx context.Context, idle time.Duration) error) {
	t.Helper()
	told := make(chan ledger.Addressed, 100)
	table.Listen(func(m ledger.Addressed) { told <- m })
	for what, node := range map[string]string{"kept": table.Node(), "gone": "nobody"} {
		Left(t, table, what)
		seen, err := table.Look(t.Context(), what)
		if err != nil {
			t.Fatal(err)
		}
		next := seen.Record.Clone()
		next.Queue = []ledger.Entry{{Node: "nobody either", Want: 1}, {Node: node, Want: 1}}
		if r, err := table.Swap(t.Context(), ledger.Swap{Name: what, Base: seen.Version, Record: next}); err != nil || !r.Written {
			t.Fatal(r, err)
		}
	}
	if err := sweep(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if seen, err := table.Look(t.Context(), "kept"); err != nil || len(seen.Record.Queue) != 2 {
		t.Errorf("of the queue is left: %+v, %v", seen, err)
	}
	if seen, err := table.Look(t.Context(), "gone"); err != nil || seen.Version != "" {
		t.Errorf("a queue of nobody is still there: %+v, %v", seen, err)
	}
}

// SweepBesideSpoilt wants that a row which cannot be read, as somebody has changed it by hand, stays
// and is not in the way of those that go. spoil makes one of that of a name.
func SweepBesideSpoilt(t *testing.T, table ledger.Table, sweep func(ctx context.Context, idle time.Duration) error, spoil func(name string)) {
	t.Helper()
	Left(t, table, "spoilt")
	Left(t, table, "gone")
	spoil("spoilt")
	if err := sweep(t.Context(), 0); err != nil {
		t.Error(err)
	}
	if seen, err := table.Look(t.Context(), "gone"); err != nil || seen.Version != "" {
		t.Errorf("still there: %+v, %v", seen, err)
	}
	if seen, err := table.Look(t.Context(), "spoilt"); err == nil {
		t.Errorf("a row that cannot be read is %+v", seen)
	}
}

// high is above every clock.
const high = backend.Fence(1 << 51)

// Left leaves a name that nobody uses, with fences above high, of which it tells the newest.
func Left(t *testing.T, table ledger.Table, name string) backend.Fence {
	t.Helper()
	r, err := Step(t, table, name, ledger.Op{Want: 1, Floor: high})
	if err != nil || !r.Written {
		t.Fatal(r, err)
	}
	if _, err := Step(t, table, name, ledger.Op{Verb: ledger.Leave, Hold: r.Record.Firm(table.Node()).ID}); err != nil {
		t.Fatal(err)
	}
	return r.Record.Top
}

// Makes has the table take a name as one that nobody has used, without a look at it. It has an
// element when that is done.
func Makes(t *testing.T, table ledger.Table, name string) chan error {
	t.Helper()
	done := make(chan error, 1)
	next, effects := ledger.Step(ledger.Record{}, ledger.Op{Node: table.Node(), Want: 1, Turns: 1, TTL: ForLong}, 0)
	go func() {
		_, err := table.Swap(t.Context(), ledger.Swap{Name: name, Record: next, Effects: effects})
		done <- err
	}()
	return done
}

// Above wants that the table has the name, once what Makes began is done, with fences above high.
func Above(t *testing.T, table ledger.Table, name string, high backend.Fence, made chan error) {
	t.Helper()
	if err := <-made; err != nil {
		t.Fatal(err)
	}
	if next := Held(t, table, name); next <= high {
		t.Errorf("after fence %d came %d", high, next)
	}
}
