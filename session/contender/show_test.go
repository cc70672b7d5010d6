package contender

import (
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

// What a node owes the store is what nobody here has or wants, from the first write to the
// confirmation that it is gone.
func TestOwes(t *testing.T) {
	b := newBench(t, nil)
	owes := func(want bool, when string) {
		t.Helper()
		if b.c.Owes() != want {
			t.Errorf("%s: owes %v, want %v", when, !want, want)
		}
	}
	owes(false, "at first")
	w := b.enter(exclusive())
	owes(false, "it is wanted")
	b.answer().accept(w)
	owes(false, "it is held")
	b.did(b.c.Release(b.now, w))
	owes(true, "the release is under way")
	b.fails(backend.ErrUnavailable)
	owes(true, "the release got no answer")
	b.settle()
	owes(false, "it is gone")
	b.did(b.c.Message(b.now, ledger.Look, nil))
	owes(false, "it looks for another reason")
}

// One who left the line before it was let in is owed until the store has answered.
func TestOwesOneWhoLeftTheLine(t *testing.T) {
	b := newBench(t, nil)
	b.other(ledger.Op{Want: 1})
	w := b.enter(exclusive())
	b.settle()
	b.did(b.c.Release(b.now, w))
	if !b.c.Owes() || b.row.Record.Entry("me") == nil {
		t.Fatal("nobody waits, and nothing is owed")
	}
	b.fails(backend.ErrRefused)
	if !b.c.Owes() {
		t.Error("the store did not serve, and nothing is owed")
	}
	if b.settle(); b.c.Owes() || b.row.Record.Has("me") {
		t.Errorf("left: %+v", b.row.Record)
	}
}

// A permit that is given back is owed while others here keep theirs.
func TestOwesAPermit(t *testing.T) {
	b := newBench(t, nil)
	first, second := b.enter(permit()), b.enter(permit())
	b.settle()
	if !b.accept(first) || !b.accept(second) || b.c.Owes() {
		t.Fatal("two permits are not held, or owed")
	}
	b.did(b.c.Release(b.now, second))
	if !b.c.Owes() {
		t.Error("a permit that nobody uses is not owed")
	}
	if b.settle(); b.c.Owes() {
		t.Error("it is given back, and owed")
	}
	s := held(t, shared(), nil)
	s.row.Record.Holds[0].Count = 2
	if s.c.Owes() {
		t.Error("of shared holds there is nothing to give back while one is left")
	}
}

// What is retained is kept, not owed; when its time is over it is owed until it is gone.
func TestOwesNothingThatIsRetained(t *testing.T) {
	w := exclusive()
	b := held(t, w, func(c *Config) { c.Retain = time.Second })
	b.did(b.c.Release(b.now, w))
	if b.sent != nil || b.c.Owes() || b.c.Quiet() {
		t.Fatalf("sent %+v, owes %v", b.sent, b.c.Owes())
	}
	b.now = b.last.Timer
	if b.did(b.c.Tick(b.now)); !b.c.Owes() {
		t.Error("given back, and not owed")
	}
	if b.settle(); b.c.Owes() || !b.c.Quiet() {
		t.Error("it is gone, and owed")
	}
}

// Only what was released and is kept for its min_hold is kept.
func TestKeeps(t *testing.T) {
	w := shared()
	w.MinHold = time.Minute
	b := held(t, w, nil)
	other := b.enter(shared())
	if !b.wait(other) {
		t.Fatal("not let in")
	}
	b.settle()
	b.did(b.c.Release(b.now, w))
	b.settle()
	if b.c.Keeps() {
		t.Error("another one has not released")
	}
	b.did(b.c.Release(b.now, other))
	if b.sent != nil && b.c.Keeps() {
		t.Error("a write is under way")
	}
	if b.settle(); !b.c.Keeps() {
		t.Error("all have released")
	}
	b.did(b.c.Describe(b.now))
	if b.c.Keeps() {
		t.Error("a write is under way")
	}
	b.fails(backend.ErrUnavailable)
	if b.c.Keeps() {
		t.Error("a write got no answer")
	}
	b.settle()
	b.enter(exclusive())
	if b.c.Keeps() {
		t.Error("another one waits")
	}
}

// An earlier process's min_hold is kept when the store has said so.
func TestKeepsWhatAnEarlierProcessHeld(t *testing.T) {
	w := exclusive()
	w.MinHold = time.Minute
	old := held(t, w, nil)
	old.did(old.c.Release(old.now, w))
	c, e := Recover(old.now, old.c.cfg, Past{ID: old.c.Hold(), Deadline: old.c.End(), Given: w.Fence, Callers: []*Caller{w}})
	old.c = c
	if old.did(e); c.Keeps() || !c.Recovering() {
		t.Error("kept before the store has answered")
	}
	if old.settle(); !c.Keeps() || c.Recovering() {
		t.Error("not kept")
	}
}

// Only a write that may get the name grants.
func TestGranting(t *testing.T) {
	b := newBench(t, nil)
	granting := func(want bool, when string) {
		t.Helper()
		if b.c.Granting() != want {
			t.Errorf("%s: granting %v, want %v", when, !want, want)
		}
	}
	granting(false, "at first")
	w := b.enter(exclusive())
	granting(true, "the name is asked for")
	b.answer().accept(w)
	granting(false, "it is held")
	b.did(b.c.Describe(b.now))
	granting(false, "callers are written down")
	b.settle()
	b.did(b.c.Message(b.now, ledger.Look, nil))
	granting(false, "a look")
	b.settle()
	b.did(b.c.Release(b.now, w))
	granting(false, "it is given back")
}

// The newest fence is that of one who has the name alone, while it is held.
func TestLastIsAlone(t *testing.T) {
	for _, w := range []*Caller{exclusive(), shared()} {
		b := held(t, w, nil)
		if f, alone := b.c.Last(); f != w.Fence || alone != (w.Mode == backend.Exclusive) {
			t.Errorf("%v: the newest fence is %d, alone %v, want %d", w.Mode, f, alone, w.Fence)
		}
		b.did(b.c.Release(b.now, w))
		b.settle()
		if _, alone := b.c.Last(); alone {
			t.Errorf("%v: somebody has it alone when it was given back", w.Mode)
		}
	}
}

// How things are is known to those who have had an answer, or stand behind those who have the
// name here; to one whose wait is over also if the store has said that this node waits.
func TestKnown(t *testing.T) {
	known := func(b *bench, w *Caller, now, late bool, when string) {
		t.Helper()
		if b.c.Known(w) != now || b.c.KnownLate(w) != late {
			t.Errorf("%s: known %v, late %v", when, b.c.Known(w), b.c.KnownLate(w))
		}
	}
	b := newBench(t, nil)
	b.other(ledger.Op{Want: 1})
	w := b.enter(exclusive())
	known(b, w, false, false, "nothing was answered")
	b.settle()
	known(b, w, true, true, "it was answered")
	known(b, b.enter(exclusive()), false, true, "the node waits")
	first := exclusive()
	b = held(t, first, nil)
	known(b, b.enter(exclusive()), true, true, "the name is in use here")
}

// What is sent has a name of its own.
func TestWhatIsSent(t *testing.T) {
	b := newBench(t, nil)
	b.other(ledger.Op{Want: 1})
	b.enter(exclusive())
	for _, want := range []struct {
		what   string
		writes bool
	}{{"sync", true}, {"join", true}} {
		if got := b.sent; got.What() != want.what || got.Writes() != want.writes {
			t.Errorf("%s, writes %v, want %+v", got.What(), got.Writes(), want)
		}
		b.answer()
	}
	b.did(b.c.Message(b.now, ledger.Look, nil))
	if got := b.sent; got.What() != "look" || got.Writes() {
		t.Errorf("%s, writes %v, want a look", got.What(), got.Writes())
	}
}

// What is given back without an answer may stay in the store for as long as its lease lasts, which may
// be that of another one who shared it.
func TestStoreEnd(t *testing.T) {
	b := newBench(t, nil)
	long, short := shared(), shared()
	long.TTL = 100 * ttl
	short.Fixed = true
	b.enter(long)
	b.enter(short)
	b.settle()
	if !b.accept(long) || !b.accept(short) {
		t.Fatal("not let in")
	}
	b.did(b.c.Release(b.now, long))
	end := b.row.Record.Holds[0].End
	if got := b.c.StoreEnd(); got != end {
		t.Errorf("in the store until %v, want %v", got, end)
	}
	b.did(b.c.Release(b.now, short))
	if got := b.last.Journal[len(b.last.Journal)-1]; got.Kind != End || got.Deadline != end {
		t.Errorf("journaled %+v, want the end %v", got, end)
	}
}
