package contender

import (
	"testing"

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
