package contender

import (
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

// A store may go back to a record that it had before: another server has taken over, which
// had not heard of the last writes.

// older is a bench whose store has gone back to row.
func (b *bench) older(row ledger.Row) {
	b.row = row
	b.did(b.c.Resync(b.now))
}

// A hold that is used is written down again in place of an earlier one of the node, by the older record.
func TestHoldIsWrittenDownInPlaceOfAnEarlierOne(t *testing.T) {
	for _, mode := range []backend.Mode{backend.Exclusive, permits} {
		b := newBench(t, func(c *Config) { c.Restores = true })
		var earlier ledger.Row
		var w *Caller
		for range 2 {
			if w != nil {
				earlier = b.row
				b.did(b.c.Release(b.now, w))
				b.settle()
			}
			w = b.enter(&Caller{TTL: ttl, Owner: "x:1", Mode: mode})
			b.settle()
			if !b.accept(w) {
				t.Fatal("not granted")
			}
		}
		held := b.row.Record.Firm("me").ID
		if earlier.Record.Firm("me").ID == held {
			t.Fatal("the hold is not another one")
		}
		b.older(earlier)
		b.settle()
		if h := b.row.Record.Firm("me"); h == nil || h.ID != held || h.Count != 1 || len(b.c.In()) != 1 {
			t.Errorf("%v: the store has %+v, and %d use it, want hold %d", mode, h, len(b.c.In()), held)
		}
	}
}

// What the node gave back, and is its own again by the older record, is a grant like any
// other: the store may have forgotten who has got it since, and refuses grants for a while.
func TestHoldThatCameBackIsGrantedAnew(t *testing.T) {
	b := newBench(t, nil)
	w := b.enter(exclusive())
	b.answer().accept(w)
	held := b.row
	b.did(b.c.Release(b.now, w))
	b.settle()
	b.older(held)
	b.enter(exclusive())
	b.answer() // sees that it has the name
	if q := b.sent; q == nil || q.Swap == nil || !q.Swap.Effects.Grants {
		t.Fatalf("it takes the name by %+v", q)
	}
}

// The same with permits under a hold that goes on.
func TestPermitsThatCameBackAreGrantedAnew(t *testing.T) {
	b := newBench(t, nil)
	first, second := b.enter(permit()), b.enter(permit())
	b.settle()
	if !b.accept(first) || !b.accept(second) {
		t.Fatal("not granted")
	}
	two := b.row
	b.did(b.c.Release(b.now, second))
	b.settle()
	b.other(ledger.Op{Want: 2, Mode: permits})
	b.older(two)
	third := b.enter(permit())
	b.answer()
	if b.accept(third) {
		t.Fatal("let in although the other node may have the permit")
	}
	if q := b.sent; q == nil || q.Swap == nil || !q.Swap.Effects.Grants {
		t.Fatalf("it takes the permit by %+v", q)
	}
	b.sent = nil
	b.did(b.c.Reply(b.now, ledger.Reply{}, &backend.Later{After: time.Minute, Err: backend.ErrRefused}))
	if b.accept(third) {
		t.Error("let in although the store has refused")
	}
}

// Permits that are used, and of which the older record does not know, are written down again,
// before another node is granted them.
func TestPermitsThatAreUsedAreWrittenDownAgain(t *testing.T) {
	for free, want := range map[bool]int{true: 3, false: 1} {
		b := newBench(t, nil)
		ws := []*Caller{b.enter(permit())}
		b.settle()
		one := b.row
		for range 2 {
			ws = append(ws, b.enter(permit()))
		}
		b.settle()
		for _, w := range ws {
			if !b.accept(w) {
				t.Fatal("not granted")
			}
		}
		b.row = one
		if !free {
			b.other(ledger.Op{Want: 2, Mode: permits})
		}
		var ended []Ended
		b.did(b.c.Resync(b.now))
		for range 10 {
			if b.sent != nil {
				b.answer()
				ended = append(ended, b.last.Ended...)
			}
		}
		if n := b.row.Record.Firm("me").Count; n != want || len(b.c.In()) != want {
			t.Errorf("free %v: the store has %d permits of ours, %d use them, want %d", free, n, len(b.c.In()), want)
		}
		for _, x := range ended {
			if x.Reason != Gone {
				t.Errorf("free %v: ended %+v", free, x)
			}
		}
		if len(ended) != 3-want {
			t.Errorf("free %v: %d have lost theirs, want %d", free, len(ended), 3-want)
		}
	}
}

// The fences of an earlier block, which the older record names, are not given again; nor are
// those of the newest block, of which it does not know.
func TestFencesOfAnEarlierBlock(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Turns = 4 })
	w := b.enter(exclusive())
	b.answer().accept(w)
	first := b.row
	last := w.Fence
	next := func() {
		t.Helper()
		x := b.enter(exclusive())
		b.settle()
		b.did(b.c.Release(b.now, w))
		b.settle()
		if w = x; !b.accept(w) {
			t.Fatal("the next caller is not let in")
		}
		if w.Fence <= last {
			t.Fatalf("fence %d after %d", w.Fence, last)
		}
		last = w.Fence
	}
	for b.row.Record.Firm("me").Block == first.Record.Firm("me").Block {
		next()
	}
	next()
	b.older(first)
	b.settle()
	b.did(b.c.SetEntries(b.now, w, 2))
	b.settle()
	next()
	if top := b.row.Record.Top; top < last {
		t.Errorf("fence %d is given, of which the store does not know: its newest is %d", last, top)
	}
}

// What a write was to give back is held on if the store has refused the write.
func TestRefusedGiveBackIsKept(t *testing.T) {
	b := newBench(t, nil)
	first, second := b.enter(permit()), b.enter(permit())
	b.settle()
	b.accept(first)
	b.accept(second)
	b.did(b.c.Release(b.now, second))
	b.sent = nil
	b.did(b.c.Reply(b.now, ledger.Reply{}, backend.ErrRefused))
	third := b.enter(permit())
	if !b.accept(third) {
		t.Errorf("not let in under a permit that the node has: %+v", b.last)
	}
}

// A lease that by the store ends before the deadline, because that has an older record again or
// its clock was set forward, is written anew, before another node can be granted the name.
func TestLeaseOfBeforeIsWrittenAnew(t *testing.T) {
	for name, past := range map[string]time.Duration{"goes on": ttl / 2, "is over": 2 * ttl} {
		b := newBench(t, func(c *Config) { c.Restores = true })
		w := b.enter(exclusive())
		b.answer().accept(w)
		b.settle()
		before, fence := ledger.Row{Version: b.row.Version, Record: b.row.Record.Clone()}, w.Fence
		for end := b.now + past; b.now < end; {
			b.now += ttl / 3
			e := b.did(b.c.Tick(b.now))
			if e.Renew == nil {
				t.Fatalf("%s: no renewal", name)
			}
			b.row.Renew(e.Renew.ID, e.Renew.TTL, b.now)
			b.did(b.c.Renewed(b.now, *e.Renew, b.now, nil))
		}
		b.older(before)
		b.settle()
		if h := b.row.Record.Firm("me"); h == nil || h.ID != fence || h.End < b.now+ttl || !w.Holds() {
			t.Errorf("%s: the store has %+v", name, b.row)
		}
		b.other(ledger.Op{Want: 1})
		if h := b.row.Record.Firm("other"); h != nil {
			t.Errorf("%s: another is granted the name", name)
		}
	}
}
