package contender

import (
	"testing"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

// reclaimed is the contender of a process that has taken up the hold of the one before it,
// which the store has kept, or has forgotten and written down again.
func reclaimed(t *testing.T, forgotten bool) (*bench, *Caller) {
	b := newBench(t, func(cfg *Config) { cfg.Restores = true })
	w := b.enter(exclusive())
	b.answer().accept(w)
	if forgotten {
		b.row = ledger.Row{}
	}
	var e Effects
	b.c, e = Recover(b.now, b.c.cfg, Past{ID: w.Fence, Deadline: b.c.Deadline(w), Callers: []*Caller{w}})
	b.did(e)
	b.answer()
	return b, w
}

// What an earlier process had in the store and had told the end of is given back with the newest
// fence that it had told.
func TestGivenBeforeTheRestart(t *testing.T) {
	b := newBench(t, nil)
	w := b.enter(exclusive())
	b.answer()
	var e Effects
	b.c, e = Recover(b.now, b.c.cfg, Past{Given: w.Fence + 7})
	b.did(e)
	for b.sent != nil {
		b.answer()
	}
	if r := b.row.Record; len(r.Holds) != 0 || r.Last != w.Fence+7 {
		t.Errorf("the record is %+v, want no holds and that %d was given", r, w.Fence+7)
	}
}

// Whatever is written of a hold that was taken up, no fence of it is given twice.
func TestFencesAfterReclaim(t *testing.T) {
	for name, forgotten := range map[string]bool{"the store has kept it": false, "the store has forgotten it": true} {
		t.Run(name, func(t *testing.T) {
			b, w := reclaimed(t, forgotten)
			b.did(b.c.SetEntries(b.now, w, 2))
			b.answer()
			next := b.enter(exclusive())
			b.did(b.c.Release(b.now, w))
			for range 3 {
				if b.sent != nil {
					b.answer()
				}
			}
			if !b.accept(next) {
				t.Fatal("the next caller is not let in")
			}
			if next.Fence <= w.Fence {
				t.Errorf("fence %d after %d", next.Fence, w.Fence)
			}
		})
	}
}

// The store forgets a hold while its node runs on.
func TestFencesAfterAStoreForgot(t *testing.T) {
	b := newBench(t, func(cfg *Config) { cfg.Restores, cfg.Turns = true, 2 })
	holder := b.enter(exclusive())
	b.answer().accept(holder)
	follow := func() (fence, before int) {
		t.Helper()
		next := b.enter(exclusive())
		for was := (*Request)(nil); b.sent != nil && b.sent != was; {
			was = b.sent
			b.answer()
		}
		b.did(b.c.Release(b.now, holder))
		if b.sent != nil {
			b.answer()
		}
		if !b.accept(next) {
			t.Fatal("the next caller is not let in")
		}
		before, holder = int(holder.Fence), next
		return int(next.Fence), before
	}
	follow()
	follow() // under another block
	b.row = ledger.Row{}
	b.did(b.c.Message(b.now, ledger.Look, nil))
	for range 2 { // it sees that, and has the hold written down again
		b.answer()
	}
	b.did(b.c.SetEntries(b.now, holder, 2))
	b.answer()
	if fence, before := follow(); fence <= before {
		t.Errorf("fence %d after %d", fence, before)
	}
}

// A lease that is taken up for as long as was told is longer than that by the margin of such a lease,
// whatever the one who has it asked for.
func TestRestartOfALongLease(t *testing.T) {
	b := newBench(t, nil)
	long := shared()
	long.TTL = 100 * ttl
	b.enter(long)
	short := b.enter(shared())
	b.settle()
	if !b.accept(long) || !b.accept(short) {
		t.Fatal("not let in")
	}
	b.did(b.c.Release(b.now, long))
	b.settle()
	b.now += ttl
	told := b.c.Deadline(short)
	var e Effects
	b.c, e = Recover(b.now, b.c.cfg, Past{ID: b.c.Hold(), Mode: backend.Shared, Deadline: told, Callers: []*Caller{short}})
	b.did(e)
	if b.settle(); b.c.Deadline(short) < told {
		t.Errorf("until %v, it was told %v", b.c.Deadline(short), told)
	}
	left := b.row.Record.Holds[0].End - b.now
	if got, want := b.row.Record.Holds[0].End-b.c.Deadline(short), b.c.cfg.Margin(left); got < want {
		t.Errorf("%v are between the two ends of a lease of %v, want %v", got, left, want)
	}
}

// What is taken up lasts no longer here than in the store, though another one, who has gone since, was
// told of a later end.
func TestRestartWithAShorterLease(t *testing.T) {
	b := newBench(t, nil)
	long, fixed := shared(), shared()
	long.TTL, fixed.Fixed = 10*ttl, true
	b.enter(long)
	b.enter(fixed)
	b.settle()
	if !b.accept(long) || !b.accept(fixed) {
		t.Fatal("not let in")
	}
	var e Effects
	b.c, e = Recover(b.now, b.c.cfg, Past{ID: b.c.Hold(), Mode: backend.Shared, Deadline: b.c.End(), Callers: []*Caller{long, fixed}})
	b.did(e)
	b.did(b.c.Release(b.now, long))
	b.fails(backend.ErrRefused)
	b.settle()
	b.did(b.c.Loosen(b.now, fixed))
	if end := b.row.Record.Holds[0].End; b.c.Deadline(fixed) > end {
		t.Errorf("held until %v, in the store until %v", b.c.Deadline(fixed), end)
	}
}
