package contender

import (
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend/ledger"
)

// What was offered to a node that hears nothing, and says so, is left to it until its time is up,
// and not any longer: it may be dead as well.
func TestOfferToTheDeaf(t *testing.T) {
	for _, deaf := range []bool{false, true} {
		b := newBench(t, nil)
		gives := func() {
			t.Helper()
			w := b.enter(exclusive())
			b.answer()
			if !b.wait(w) {
				t.Fatalf("not granted: %+v", b.row.Record)
			}
			b.other(ledger.Op{Node: "deaf", Want: 1, Deaf: deaf})
			b.other(ledger.Op{Node: "other", Want: 1})
			b.did(b.c.Message(b.now, ledger.Waits, nil))
			b.did(b.c.Release(b.now, w))
			for b.sent != nil {
				r := b.carryOut()
				if r.Record.Offer("deaf") != nil {
					r.Unheard = []string{"deaf"}
				}
				b.did(b.c.Reply(b.now, r, nil))
			}
		}
		gives()
		if offered := b.row.Record.Offer("deaf") != nil; offered != deaf {
			t.Errorf("deaf %v: it is offered the name: %v, want %v", deaf, offered, deaf)
		}
		if b.now += 2 * time.Second; deaf {
			b.did(b.c.Tick(b.now))
			b.answer()
		}
		if b.row.Record.Offer("other") == nil || !b.row.Record.Entry("deaf").Suspect {
			t.Errorf("deaf %v: the next one is not offered the name: %+v", deaf, b.row.Record)
		}
	}
}

// While no messages arrive a node looks where one may tell something, and says that it does; when
// they do again, it takes that back.
func TestDeafLooks(t *testing.T) {
	b := newBench(t, nil)
	w := b.enter(exclusive())
	b.answer()
	b.accept(w)
	if b.did(b.c.Deaf(b.now)); b.sent != nil {
		t.Error("it looks although one caller has the name alone, who gives it back by a write")
	}
	b.did(b.c.Resync(b.now))
	b.answer()
	b.did(b.c.Release(b.now, w))
	b.answer()

	b.other(ledger.Op{Want: 1})
	b.enter(exclusive())
	b.answer()
	is := func(deaf bool) {
		t.Helper()
		for b.sent != nil {
			b.answer()
		}
		if e := b.row.Record.Entry("me"); e == nil || e.Deaf != deaf {
			t.Errorf("it waits as %+v, want deaf %v", e, deaf)
		}
	}
	is(false)
	b.did(b.c.Deaf(b.now))
	is(true)
	if b.did(b.c.Deaf(b.now)); b.sent == nil || b.sent.Writes() {
		t.Errorf("it sends %+v, want a look", b.sent)
	}
	is(true)
	b.did(b.c.Resync(b.now))
	is(false)
}

// Readers of a node that hears nothing do not go on for ever while a writer waits elsewhere.
func TestDeafReadersYield(t *testing.T) {
	b := newBench(t, nil)
	enters := func() bool { w := b.enter(shared()); return b.accept(w) }
	b.enter(shared())
	if b.answer(); !b.accept(b.announced[0]) {
		t.Fatal("not granted")
	}
	b.other(ledger.Op{Want: 1})
	if !enters() {
		t.Fatal("one is kept out by what the node cannot know yet")
	}
	b.did(b.c.Deaf(b.now))
	b.answer()
	if enters() {
		t.Error("one comes in while a writer waits elsewhere")
	}
}
