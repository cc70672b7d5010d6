package contender

import (
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

// settle carries out all that is sent, until nothing is.
func (b *bench) settle() {
	b.Helper()
	for range 20 {
		if b.sent == nil {
			return
		}
		b.answer()
	}
	b.Fatal("it asks for ever")
}

// wait lets time pass to the next timer until w is let in.
func (b *bench) wait(w *Caller) bool {
	b.Helper()
	for range 20 {
		b.settle()
		if b.accept(w) {
			return true
		}
		if b.last.Timer > b.now {
			b.now = b.last.Timer
			b.did(b.c.Tick(b.now))
		}
	}
	return false
}

// A message that another node waits counts although the answer under way does not know of
// that node: it is older.
func TestMessageOutlivesAnOlderAnswer(t *testing.T) {
	b := newBench(t, nil)
	w := b.enter(exclusive())
	r := b.carryOut()
	b.other(ledger.Op{Want: 1})
	b.did(b.c.Message(b.now, ledger.Waits, nil))
	b.did(b.c.Reply(b.now, r, nil))
	if !b.accept(w) {
		t.Fatal("not granted")
	}
	late := b.enter(exclusive())
	b.did(b.c.Release(b.now, w))
	if b.accept(late) {
		t.Error("let in before the other node, which waited first")
	}
}

// The record that comes with the message of one who waits is what the release is written
// over: none is lost to the coming of that one. An older record than the copy, or one that says
// something else of our hold, is not.
func TestReleaseBuildsOnTheRecordOfWhoWaits(t *testing.T) {
	for what, tc := range map[string]struct {
		change   func(*ledger.Reply)
		believed bool
	}{
		"the newest": {func(*ledger.Reply) {}, true},
		"an old one": {func(r *ledger.Reply) { r.Clock = 5 }, false},
		"without our hold": {func(r *ledger.Reply) {
			r.Record.Holds = nil
		}, false},
	} {
		b := newBench(t, nil)
		w := b.enter(exclusive())
		r := b.carryOut()
		r.Clock = 10
		if b.did(b.c.Reply(b.now, r, nil)); !b.accept(w) {
			t.Fatal("not granted")
		}
		b.other(ledger.Op{Want: 1})
		r = b.row.Reply(b.now)
		r.Clock = 20
		tc.change(&r)
		b.did(b.c.Message(b.now, ledger.Waits, &r))
		b.did(b.c.Release(b.now, w))
		if b.sent == nil || b.sent.Swap == nil {
			t.Fatalf("%s: sent %+v, want a swap", what, b.sent)
		}
		if got := b.sent.Swap.Base == b.row.Version; got != tc.believed {
			t.Errorf("%s: the release builds on it: %v, want %v", what, got, tc.believed)
		}
		b.settle()
		if o := b.row.Record.Offer("other"); o == nil {
			t.Errorf("%s: nothing is offered to who waits: %+v", what, b.row.Record)
		}
	}
}

// A message is a hint: if nobody waits, whoever comes is let in all the same.
func TestMessageThatIsNotTrue(t *testing.T) {
	for _, early := range []bool{false, true} {
		b := newBench(t, nil)
		w := b.enter(exclusive())
		if early {
			b.did(b.c.Message(b.now, ledger.Waits, nil))
		}
		b.answer().accept(w)
		if !early {
			b.did(b.c.Message(b.now, ledger.Waits, nil))
		}
		late := b.enter(exclusive())
		b.did(b.c.Release(b.now, w))
		b.settle()
		if !b.accept(late) {
			t.Error("never let in, for somebody who does not wait")
		}
	}
}

// A hold whose deadline has passed lets nobody in any more; who waits gets another one.
func TestNobodyComesInAfterTheDeadline(t *testing.T) {
	b := newBench(t, nil)
	w, next := b.enter(exclusive()), b.enter(exclusive())
	b.answer().accept(w)
	b.now = b.c.Deadline(w) // no renewal was answered
	e := b.did(b.c.Tick(b.now))
	if len(e.Ended) != 1 || e.Ended[0].Caller != w || e.Ended[0].Reason != Expired {
		t.Fatalf("it ended with %+v", e.Ended)
	}
	if len(e.Granted) > 0 {
		t.Fatal("the next one is let in under a hold that is lost")
	}
	b.now += ttl
	if !b.wait(next) || next.Fence <= w.Fence {
		t.Errorf("after fence %d the next one has %d", w.Fence, next.Fence)
	}
}

// One whose grant could not be told in time waits again, as the first.
func TestGrantThatWasNotToldInTime(t *testing.T) {
	b := newBench(t, nil)
	w, next := b.enter(exclusive()), b.enter(exclusive())
	b.answer()
	first := w.Fence
	b.now = b.c.Deadline(w)
	if b.accept(w) {
		t.Fatal("told after the deadline")
	}
	b.now += ttl
	if !w.Waits() || !b.wait(w) || w.Fence <= first || next.Fence != 0 {
		t.Errorf("after fence %d: %d, and the next one has %d", first, w.Fence, next.Fence)
	}
}

// The store says when it will serve; it is not asked before.
func TestRefusedUntilATime(t *testing.T) {
	b := newBench(t, nil)
	w, another := b.enter(exclusive()), b.enter(exclusive())
	b.sent = nil
	b.did(b.c.Reply(b.now, ledger.Reply{}, &backend.Later{Err: backend.ErrRefused, After: time.Minute}))
	b.did(b.c.Release(b.now, another)) // gives up
	if b.sent != nil || b.last.Timer != b.now+time.Minute {
		t.Fatalf("asked again at %v, now is %v", b.last.Timer, b.now)
	}
	if !b.wait(w) {
		t.Error("not served afterwards")
	}
}

// The longer there is no answer, the later the store is asked again.
func TestPausesGrow(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Retry, c.RetryMost = 20*time.Millisecond, 100*time.Millisecond })
	b.enter(exclusive())
	for i, ms := range []int{20, 40, 80, 100, 100} {
		want := time.Duration(ms) * time.Millisecond
		b.sent = nil
		b.did(b.c.Reply(b.now, ledger.Reply{}, backend.ErrUnavailable))
		if got := b.last.Timer - b.now; got != want {
			t.Errorf("pause %d is %v, want %v", i, got, want)
		}
		b.now = b.last.Timer
		b.did(b.c.Tick(b.now))
		if b.sent == nil {
			t.Fatal("not asked again")
		}
	}
	b.settle()
	b.did(b.c.Message(b.now, ledger.Look, nil))
	if b.did(b.c.Reply(b.now, ledger.Reply{}, backend.ErrUnavailable)); b.last.Timer != b.now+20*time.Millisecond {
		t.Errorf("after an answer the pause is %v", b.last.Timer-b.now)
	}
}

// One who comes while the answer that grants is under way came after those who wait at
// other nodes.
func TestWhoComesWhileTheGrantIsUnderWay(t *testing.T) {
	b := newBench(t, nil)
	b.other(ledger.Op{Want: 1})
	w := b.enter(exclusive())
	b.settle()
	b.other(ledger.Op{Node: "another", Want: 1})
	b.other(ledger.Op{Verb: ledger.Leave})
	b.did(b.c.Message(b.now, ledger.Look, nil))
	for b.row.Record.Firm("me") == nil {
		r := b.carryOut()
		if b.row.Record.Firm("me") != nil {
			late := b.enter(exclusive())
			b.did(b.c.Reply(b.now, r, nil))
			if !b.accept(w) {
				t.Fatal("not granted")
			}
			b.did(b.c.Release(b.now, w))
			if b.accept(late) {
				t.Error("let in before a node that waited earlier")
			}
			return
		}
		b.did(b.c.Reply(b.now, r, nil))
	}
}

// A grant whose answer comes after its deadline lets nobody in.
func TestGrantAfterTheDeadline(t *testing.T) {
	b := newBench(t, nil)
	w := b.enter(exclusive())
	r := b.carryOut()
	b.now += ttl
	b.did(b.c.Reply(b.now, r, nil))
	if len(b.last.Granted) > 0 || !w.Waits() {
		t.Errorf("let in %v after the deadline of what was granted", ttl)
	}
}

// As long as it is not known what became of a write, something of this node may be in the
// store, also between two tries.
func TestOwesBetweenTries(t *testing.T) {
	b := newBench(t, nil)
	w := b.enter(exclusive())
	b.did(b.c.Reply(b.now, ledger.Reply{}, backend.ErrUnavailable))
	b.did(b.c.Release(b.now, w)) // undone at once
	b.did(b.c.Reply(b.now, ledger.Reply{}, backend.ErrUnavailable))
	if b.last.Send != nil || !b.c.Owes() {
		t.Errorf("sent %v, owed %v, want a pause in which something is owed", b.last.Send, b.c.Owes())
	}
}

// A permit that nobody here uses is given back, also if nobody is known to wait for it: one
// who does not want to wait elsewhere would be refused. From the sending on it is not ours.
func TestSparePermitIsGivenBack(t *testing.T) {
	for name, err := range map[string]error{"written": nil, "refused": backend.ErrRefused} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil)
			first, second := b.enter(permit()), b.enter(permit())
			b.settle()
			b.accept(first)
			b.accept(second)
			b.did(b.c.Release(b.now, first))
			if b.sent == nil || !b.c.Owes() {
				t.Fatal("a permit that nobody uses is kept")
			}
			next := b.enter(permit())
			if b.accept(next) {
				t.Error("let in under a permit that is being given back")
			}
			if err != nil {
				b.sent = nil
				b.did(b.c.Reply(b.now, ledger.Reply{}, err))
			} else if b.answer(); b.row.Record.Firm("me").Count != 1 || b.c.Owes() {
				t.Errorf("the store has %+v, owed %v", b.row.Record.Firm("me"), b.c.Owes())
			}
			b.now += time.Second
			b.did(b.c.Tick(b.now))
			b.settle()
			if !b.accept(next) || b.row.Record.Firm("me").Count != 2 {
				t.Errorf("the next is not let in: the store has %+v", b.row.Record)
			}
		})
	}
}

// That a write was refused over the version that was there before says nothing about the write
// before it, which may still be carried out; over another version it is refused, too.
func TestOutcomeStaysUnknownWithoutAnotherVersion(t *testing.T) {
	for _, version := range []ledger.Version{"", "another"} {
		b := newBench(t, nil)
		b.enter(exclusive())
		b.sent = nil
		b.did(b.c.Reply(b.now, ledger.Reply{}, backend.ErrUnavailable))
		b.now += time.Second
		b.did(b.c.Tick(b.now))
		b.sent = nil
		b.row.Version = version
		b.did(b.c.Reply(b.now, b.row.Reply(b.now), nil))
		if b.c.Unknown() != (version == "") {
			t.Errorf("version %q: the outcome of the first write is unknown: %v", version, b.c.Unknown())
		}
	}
}

// Nobody wants more permits than there are: who is not served in full keeps all others waiting.
func TestNoMorePermitsAreWantedThanThereAre(t *testing.T) {
	b := newBench(t, nil)
	b.other(ledger.Op{Want: 3, Mode: permits})
	for range 5 {
		b.enter(permit())
	}
	b.settle()
	b.c.look = true
	b.did(b.c.Tick(b.now))
	b.settle()
	if e := b.row.Record.Entry("me"); e == nil || e.Want > 3 {
		t.Errorf("it wants %+v of 3", e)
	}
}
