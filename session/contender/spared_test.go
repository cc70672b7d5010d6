package contender

import (
	"slices"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

// tries is w, who does not want to wait.
func tries(w *Caller) *Caller {
	w.NoWait = true
	return w
}

// The store is asked for nothing that is known, or is none of this node's business.
func TestNothingIsAsked(t *testing.T) {
	for name, do := range map[string]func(b *bench, w *Caller){
		"one waits behind one of this node": func(b *bench, _ *Caller) { b.enter(exclusive()) },
		"one who does not want to wait":     func(b *bench, _ *Caller) { b.enter(tries(exclusive())) },
		"one wants it as another kind":      func(b *bench, _ *Caller) { b.enter(permit()) },
		"another waits, and is seen when it is given back": func(b *bench, _ *Caller) {
			b.other(ledger.Op{Want: 1})
			b.did(b.c.Message(b.now, ledger.Waits, nil))
		},
		"it is released twice": func(b *bench, w *Caller) {
			b.did(b.c.Release(b.now, w))
			b.settle()
			b.did(b.c.Release(b.now, w))
		},
		"callers are to be written, and there are none": func(b *bench, w *Caller) {
			b.did(b.c.Release(b.now, w))
			b.settle()
			b.did(b.c.Describe(b.now))
		},
	} {
		w := exclusive()
		b := held(t, w, nil)
		if do(b, w); b.sent != nil {
			t.Errorf("%s: sent is a %s", name, b.sent.What())
		}
	}
}

// What others had and is over is written away by who wants something, not by a reader who has it.
func TestNothingIsWrittenOfOthersThatIsOver(t *testing.T) {
	b := newBench(t, nil)
	b.other(ledger.Op{Want: 1, Mode: backend.Shared})
	w := shared()
	w.TTL = 10 * ttl
	b.enter(w)
	b.settle()
	if !b.accept(w) {
		t.Fatal("not let in")
	}
	b.now += ttl + time.Second
	if b.did(b.c.Tick(b.now)); b.sent != nil {
		t.Errorf("sent is a %s", b.sent.What())
	}
	b.enter(exclusive())
	if b.settle(); b.row.Record.Firm("other") != nil {
		t.Error("who waits has left what is over where it is")
	}
}

// Of a store that forgets nothing, or has what it had, nothing is written anew.
func TestRecordThatIsAsItWas(t *testing.T) {
	for name, tt := range map[string]struct{ restores, older bool }{
		"as it was":            {true, false},
		"a store that forgets": {true, true},
		"one that does not":    {false, true},
	} {
		b := held(t, exclusive(), func(c *Config) { c.Restores = tt.restores })
		if tt.older {
			b.row.Record.Holds[0].End -= time.Second
		}
		b.did(b.c.Message(b.now, ledger.Look, nil))
		b.answer()
		if writes := b.sent != nil && b.sent.Writes(); writes != (tt.restores && tt.older) {
			t.Errorf("%s: sent %+v", name, b.sent)
		}
	}
}

// A hold of which nobody was told is not written down again when the store has forgotten it.
func TestForgottenBeforeAnybodyWasTold(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Restores = true })
	w := b.enter(exclusive())
	b.answer()
	b.row = ledger.Row{}
	b.did(b.c.Message(b.now, ledger.Look, nil))
	b.answer()
	if w.phase != waiting || b.sent == nil || b.sent.What() != "sync" {
		t.Fatalf("sent %+v, want that it is asked for anew", b.sent)
	}
	if b.settle(); !b.accept(w) {
		t.Error("not let in")
	}
}

// A message that comes while a refused request was under way is looked at all the same.
func TestMessageDuringARefusedRequest(t *testing.T) {
	b := newBench(t, nil)
	first := b.enter(permit())
	b.settle()
	b.accept(first)
	b.other(ledger.Op{Want: int(permits) - 1, Mode: permits})
	try := b.enter(tries(permit()))
	b.did(b.c.Message(b.now, ledger.Look, nil))
	b.sent = nil
	b.did(b.c.Reply(b.now, ledger.Reply{}, backend.ErrRefused))
	if !slices.Equal(b.last.Ended, []Ended{{try, Refused}}) {
		t.Fatalf("ended are %+v", b.last.Ended)
	}
	b.now += time.Second
	if b.did(b.c.Tick(b.now)); b.sent == nil {
		t.Error("nobody looks")
	}
}

// A deadline is final: an answer that comes after it does not bring the hold back.
func TestReclaimedAfterTheDeadline(t *testing.T) {
	w := exclusive()
	b := held(t, w, nil)
	end := b.c.Deadline(w)
	var e Effects
	b.c, e = Recover(b.now, b.c.cfg, Past{ID: b.c.Hold(), Deadline: end, Given: w.Fence, Callers: []*Caller{w}})
	b.did(e)
	r := b.carryOut()
	b.now = end
	if b.did(b.c.Reply(b.now, r, nil)); !slices.Equal(b.last.Ended, []Ended{{w, Expired}}) || w.Holds() {
		t.Errorf("ended are %+v, want that it has expired", b.last.Ended)
	}
}

// What a renewal has brought meanwhile is not taken back by an older write.
func TestReclaimBesideAProlongedLease(t *testing.T) {
	w := exclusive()
	b := held(t, w, nil)
	var e Effects
	b.c, e = Recover(b.now, b.c.cfg, Past{ID: b.c.Hold(), Deadline: b.c.Deadline(w), Given: w.Fence, Callers: []*Caller{w}})
	b.did(e)
	r := b.carryOut()
	b.now += ttl / 2
	b.c.least = 0
	b.prolong(w, ttl)
	until := b.c.Deadline(w)
	if b.did(b.c.Reply(b.now, r, nil)); b.c.Deadline(w) < until {
		t.Errorf("until %v, it was told %v", b.c.Deadline(w), until)
	}
}

// A hold whose grant came after its end was granted by a slow store, until somebody comes anew.
func TestSlow(t *testing.T) {
	b := newBench(t, nil)
	w := b.enter(exclusive())
	r := b.carryOut()
	b.now += ttl
	if b.did(b.c.Reply(b.now, r, nil)); !b.c.Slow() {
		t.Error("the grant came after its end, and the store is not slow")
	}
	b.enter(exclusive())
	if !b.c.Slow() {
		t.Error("not slow, though the one for whom it was so waits")
	}
	b.settle()
	if !b.accept(w) || b.c.Slow() {
		t.Error("slow, though the grant came in time")
	}
	b = newBench(t, nil)
	w = b.enter(exclusive())
	r = b.carryOut()
	b.now += ttl
	b.did(b.c.Reply(b.now, r, nil))
	b.did(b.c.Release(b.now, w))
	if b.enter(exclusive()); b.c.Slow() {
		t.Error("slow for who came after the one for whom it was so")
	}
}

// Who does not want to wait any more is told at once that others are before it, if that is known.
func TestHurryIsAnsweredAtOnce(t *testing.T) {
	b := held(t, exclusive(), nil)
	b.did(b.c.Describe(b.now))
	w := b.enter(exclusive())
	if b.did(b.c.Hurry(b.now, w)); !slices.Equal(b.last.Ended, []Ended{{w, Held}}) {
		t.Errorf("ended are %+v while a request is under way", b.last.Ended)
	}
}

// One who may come in together with the head has an answer of the store's own, if the head does not
// want to wait either.
func TestTryBehindAHurriedOne(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Recall = time.Second })
	b.other(ledger.Op{Want: 1, Retains: true})
	head := b.enter(shared())
	b.settle()
	b.did(b.c.Hurry(b.now, head))
	try := b.enter(tries(shared()))
	if slices.ContainsFunc(b.last.Ended, func(x Ended) bool { return x.Caller == try }) {
		t.Error("refused before the store was asked")
	}
}

// One who was let in and not told waits again when it is ended by force, and comes in later.
func TestLostBeforeItIsTold(t *testing.T) {
	b := newBench(t, nil)
	w := b.enter(exclusive())
	b.answer()
	fence := w.Fence
	b.did(b.c.Lose(b.now, w, ByForce))
	if len(b.last.Ended) != 0 || !w.Waits() {
		t.Fatalf("ended are %+v", b.last.Ended)
	}
	if b.settle(); !b.accept(w) || w.Fence <= fence {
		t.Errorf("fence %d after %d", w.Fence, fence)
	}
}

// What is kept for its min_hold is not ended by its max_hold.
func TestMaxHoldOfWhatIsKept(t *testing.T) {
	w := exclusive()
	w.MinHold, w.MaxHold = 2*time.Second, time.Second
	b := held(t, w, func(c *Config) { c.Delay = time.Minute })
	b.did(b.c.Release(b.now, w))
	b.now += time.Second
	if b.did(b.c.Tick(b.now)); !w.Holds() || len(b.last.Ended) != 0 {
		t.Error("ended before its min_hold")
	}
}

// Nothing is renewed that is not certain to be ours, or is over.
func TestNotRenewed(t *testing.T) {
	renews := func(b *bench, when string) {
		t.Helper()
		if b.last.Renew != nil {
			t.Errorf("%s: renewed", when)
		}
	}
	w := exclusive()
	b := held(t, w, nil)
	hold, end := b.c.Hold(), b.c.Deadline(w)
	var e Effects
	b.c, e = Recover(b.now, b.c.cfg, Past{ID: hold, Deadline: end, Given: w.Fence, Callers: []*Caller{w}})
	b.did(e)
	renews(b, "the store has not confirmed it")

	w = exclusive()
	b = held(t, w, nil)
	b.other(ledger.Op{Want: 1})
	b.look()
	b.enter(exclusive())
	b.now += 100 * time.Millisecond // the turns are over
	b.did(b.c.Release(b.now, w))
	b.now += ttl / 3
	b.did(b.c.Tick(b.now))
	renews(b, "it is being given back")

	w = exclusive()
	b = held(t, w, nil)
	b.did(b.c.Describe(b.now))
	b.enter(exclusive())
	b.now = b.c.Deadline(w)
	b.did(b.c.Tick(b.now))
	renews(b, "it is over")
}

// A renewal that makes nothing last longer is not journaled.
func TestRenewalThatBringsNothing(t *testing.T) {
	w := exclusive()
	b := held(t, w, nil)
	b.prolong(w, 10*ttl)
	if b.prolong(w, ttl); len(b.last.Journal) != 0 {
		t.Errorf("journaled %v", b.kinds())
	}
}

// A name that is retained while the outcome of a write is not known keeps its lease.
func TestRetainedWhileAWriteIsUnknown(t *testing.T) {
	w := exclusive()
	b := held(t, w, func(c *Config) { c.Retain = time.Minute })
	b.did(b.c.Describe(b.now))
	b.did(b.c.Release(b.now, w))
	b.fails(backend.ErrUnavailable)
	b.settle()
	if left := b.c.End() - b.now; b.c.Hold() == 0 || left < ttl/2 {
		t.Errorf("%v is left of a lease of %v", left, ttl)
	}
}

// All permits that are wanted here are asked for by one write, but in strict order one by one.
func TestPermitsByOneWrite(t *testing.T) {
	for _, strict := range []bool{false, true} {
		b := newBench(t, func(c *Config) { c.Strict = strict })
		b.other(ledger.Op{Want: int(permits), Mode: permits})
		for range permits {
			b.enter(permit())
		}
		b.settle()
		b.other(ledger.Op{Verb: ledger.Leave, Mode: permits})
		b.did(b.c.Message(b.now, ledger.Look, nil))
		for b.sent != nil && b.row.Record.Firm("me") == nil {
			b.answer()
		}
		want := int(permits)
		if strict {
			want = 1
		}
		if mine := b.row.Record.Firm("me"); mine == nil || mine.Count != want {
			t.Errorf("strict %v: the record is %+v, want %d permits", strict, b.row.Record, want)
		}
	}
}

// Told by a message alone that others wait, a node looks who they are, if that can be of use.
func TestLooksWhoWaits(t *testing.T) {
	for name, tt := range map[string]struct {
		w     *Caller
		do    func(b *bench)
		looks bool
	}{
		"one has it alone":            {exclusive(), func(*bench) {}, false},
		"another one waits here":      {exclusive(), func(b *bench) { b.enter(exclusive()) }, true},
		"a reader":                    {shared(), func(*bench) {}, false},
		"a permit, and none is left":  {permit(), func(*bench) {}, false},
		"the record says it":          {exclusive(), func(b *bench) { b.other(ledger.Op{Want: 1}); b.look(); b.enter(exclusive()) }, false},
		"nobody has what is retained": {exclusive(), func(b *bench) { b.did(b.c.Release(b.now, b.c.In()[0])) }, true},
	} {
		b := held(t, tt.w, func(c *Config) { c.Retain = time.Minute })
		tt.do(b)
		b.now += 100 * time.Millisecond // no more turns
		b.did(b.c.Message(b.now, ledger.Waits, nil))
		b.now += 100 * time.Millisecond
		b.did(b.c.Tick(b.now))
		if (b.sent != nil) != tt.looks {
			t.Errorf("%s: looks %v, want %v", name, !tt.looks, tt.looks)
		}
	}
}

// look has the node see the record as it is now.
func (b *bench) look() {
	b.did(b.c.Message(b.now, ledger.Look, nil))
	b.settle()
}

// Who asks after one who gave up while the nodes were asked has them asked anew.
func TestRecallAnew(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Recall = time.Second })
	b.other(ledger.Op{Want: 1, Retains: true})
	w := b.enter(tries(exclusive()))
	b.settle()
	b.did(b.c.Release(b.now, w))
	b.asked = nil
	b.enter(tries(exclusive()))
	if b.settle(); len(b.asked) != 1 {
		t.Errorf("asked are %q", b.asked)
	}
}

// A renewal beside a write counts for what that asks for, whatever an earlier one has.
func TestRenewalAfterAShorterWrite(t *testing.T) {
	short := exclusive()
	short.TTL = 3 * time.Second
	b := held(t, short, nil)
	b.did(b.c.Release(b.now, short))
	b.settle()
	w := b.enter(exclusive())
	b.settle()
	b.accept(w)
	b.did(b.c.Describe(b.now))
	b.now += time.Second
	r, _, e := b.c.Prolong(b.now, w, ttl)
	b.did(e)
	b.did(b.c.Prolonged(b.now, w, r, b.now, nil))
	if want := b.now + ttl - ttl/100; b.c.Deadline(w) != want {
		t.Errorf("until %v, want %v", b.c.Deadline(w), want)
	}
}
