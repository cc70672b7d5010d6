package redlock_test

import (
	"errors"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/redis/redistest"
	"github.com/lockgw/lockgw/backend/redlock"
)

// outside has a program outside lockgw lock x on servers, in place of what is there.
func outside(t *testing.T, servers []*redistest.Server, fields ...any) {
	t.Helper()
	for _, s := range servers {
		c := s.Client()
		c.Del(t.Context(), "x")
		if err := c.HSet(t.Context(), "x", fields...).Err(); err != nil {
			t.Fatal(err)
		}
		c.PExpire(t.Context(), "x", time.Minute)
	}
}

const program = "7c8a1f3e-1111-4222-8333-444455556666:52"

// A program outside lockgw that has taken the lock on one server, where it had run out or was
// deleted, does not have the hold forgotten that the other servers have.
func TestTableOutsideOnOneThatMissesAHold(t *testing.T) {
	t.Parallel()
	all, url := servers(t, 3)
	for range 10 { // by whichever servers answer first
		a, b := openTable(t, url, "a"), openTable(t, url, "b")
		r, err := do(t, a, ledger.Op{Want: 1})
		holds(t, r, err, "a")
		redistest.Await(t, "it is there", func() bool { return all[0].Client().Exists(t.Context(), "x").Val() == 1 })
		outside(t, all[:1], program, 1)
		for range 5 {
			r, err = do(t, b, ledger.Op{Want: 1})
			if err != nil || r.Record.Firm("b") != nil || r.Record.Firm("a") == nil {
				t.Fatalf("b is to wait for a: %+v, %v", r, err)
			}
		}
		for _, n := range []*redlock.Table{b, a} {
			if r, err = do(t, n, ledger.Op{Verb: ledger.Leave}); err != nil || r.Record.Has(n.Node()) {
				t.Fatalf("%s is to leave: %+v, %v", n.Node(), r, err)
			}
		}
		_, _ = b.Close(), a.Close() // so that none of their requests comes late
		all[0].Client().Del(t.Context(), "x")
	}
}

// A lock of Redisson's that is of another kind makes the name one of that kind where a majority
// has it, whichever servers answer first. Who waits leaves all the same, and who would end such a
// lock by force is told why that cannot be.
func TestTableOutsideOfAnotherKind(t *testing.T) {
	t.Parallel()
	all, url := servers(t, 3)
	a, b := openTable(t, url, "a"), openTable(t, url, "b")
	is := func(size int) {
		t.Helper()
		for range 30 {
			if r, err := b.Look(t.Context(), "x"); err != nil || r.Record.Size != size || len(r.Record.Queue) != 2 {
				t.Fatalf("there is %+v, %v, want size %d", r, err, size)
			}
		}
	}
	outside(t, all, program, 1)
	for _, n := range []*redlock.Table{a, b} {
		if r, err := do(t, n, ledger.Op{Want: 1}); err != nil || r.Record.Entry(n.Node()) == nil {
			t.Fatalf("%s is to wait: %+v, %v", n.Node(), r, err)
		}
	}
	outside(t, all[:1], "mode", "read", program, 1)
	is(0)
	outside(t, all, "mode", "read", program, 1)
	is(ledger.OtherKind)
	if r, err := do(t, a, ledger.Op{Verb: ledger.Leave}); err != nil || !r.Written || r.Record.Has("a") || !r.Record.Has("b") {
		t.Errorf("a is to leave: %+v, %v", r, err)
	}
	seen, err := b.Look(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	next, effects := ledger.Step(seen.Record, ledger.Op{Verb: ledger.Break, Node: "b", Foreign: true, Turns: 1}, 0)
	r, err := b.Swap(t.Context(), ledger.Swap{Name: "x", Base: seen.Version, Record: next, Effects: effects, Seen: seen.Seen})
	if !errors.Is(err, backend.ErrConflict) {
		t.Errorf("a lock of another kind is ended by force: %+v, %v", r, err)
	}
}
