package contender

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

// However often the store forgets, and whatever is under way then, no fence is given
// twice, and each is larger than the one before.
func TestFencesGrowThoughTheStoreForgets(t *testing.T) {
	for seed := range uint64(3000) {
		fencesOf(t, rand.New(rand.NewPCG(seed, 0)), seed)
	}
}

func fencesOf(t *testing.T, r *rand.Rand, seed uint64) {
	b := newBench(t, func(c *Config) { c.Restores = true })
	b.clock = true
	var waiting, held []*Caller
	var last backend.Fence
	var told []string
	say := func(s string) { told = append(told, s) }
	for range 200 {
		b.now += time.Duration(r.IntN(20)) * time.Millisecond
		switch r.IntN(11) {
		case 0:
			w := exclusive()
			w.TTL = time.Duration(1+r.IntN(3)) * time.Second
			waiting = append(waiting, b.enter(w))
			say("enter")
		case 1, 2, 3:
			if b.sent != nil {
				b.answer()
				say("answer")
			}
		case 4:
			if len(held) > 0 {
				b.did(b.c.Release(b.now, held[0]))
				held = held[1:]
				say("release")
			}
		case 5:
			if r.IntN(3) == 0 {
				b.row = ledger.Row{}
				say("forget")
			}
		case 7:
			if b.sent != nil {
				if r.IntN(2) == 0 {
					b.carryOut()
				}
				b.sent = nil
				b.did(b.c.Reply(b.now, ledger.Reply{}, backend.ErrUnavailable))
				say("lost")
			}
		case 8:
			b.did(b.c.Tick(b.now))
			say("timer")
		case 9:
			if r.IntN(3) == 0 { // the process is killed, and another takes up what it held
				past := Past{}
				if len(held) > 0 {
					old := held[0]
					w := &Caller{TTL: old.TTL, Owner: old.Owner, Fence: old.Fence, Entries: 1}
					past = Past{ID: b.c.hold.id, Deadline: b.c.hold.deadline, Callers: []*Caller{w}}
					held = []*Caller{w}
				}
				b.sent, waiting = nil, nil
				c, e := Recover(b.now, b.c.cfg, past)
				b.c = c
				b.did(e)
				say("restart")
			}
		case 6:
			if id := b.c.hold.id; id != 0 {
				b.did(b.c.Renewed(b.now, ledger.Renewal{ID: id, TTL: b.c.hold.ttl}, b.now, backend.ErrNotHeld))
				say("not held")
			}
		}
		held = slices.DeleteFunc(held, func(w *Caller) bool { return w.phase == over })
		for _, w := range slices.Clone(waiting) {
			if w.phase != granted || w.settle || !b.accept(w) {
				continue
			}
			say("accept")
			waiting = slices.DeleteFunc(waiting, func(x *Caller) bool { return x == w })
			if held = append(held, w); w.Fence <= last {
				t.Fatalf("seed %d: fence %d after %d: %q", seed, w.Fence, last, told)
			}
			last = w.Fence
		}
	}
}

// A hold whose lock somebody has deleted is lost: the store has not forgotten it.
func TestDeletedHoldIsLost(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Restores = true })
	w := b.enter(exclusive())
	b.answer().accept(w)
	b.did(b.c.Renewed(b.now, ledger.Renewal{ID: b.c.hold.id, TTL: ttl}, b.now, backend.ErrNotHeld))
	r := b.carryOut()
	r.Record.Holds, r.Deleted = nil, []backend.Fence{w.Fence}
	b.did(b.c.Reply(b.now, r, nil))
	if len(b.last.Ended) != 1 || b.last.Ended[0].Reason != Gone {
		t.Errorf("ended %+v", b.last.Ended)
	}
}

// Nor does the one who sees it first know which fences its node has given.
func TestDeletedHoldOfAnother(t *testing.T) {
	b := newBench(t, nil)
	b.other(ledger.Op{Want: 1})
	w := b.enter(exclusive())
	b.answer()
	b.did(b.c.Message(b.now, ledger.Look, nil))
	b.did(b.c.Release(b.now, w))
	r := b.carryOut()
	for _, h := range r.Record.Holds {
		r.Deleted = append(r.Deleted, h.ID)
	}
	r.Record.Holds = nil
	b.did(b.c.Reply(b.now, r, nil))
	if s := b.sent.Swap; s == nil || s.Record.Last != r.Record.Top {
		t.Errorf("%+v is written, want that any fence up to %d may have been given", s, r.Record.Top)
	}
}

// A hold that an administrator has broken is not taken for a forgotten one, whatever its node
// hears of that first.
func TestBrokenHoldIsNotRestored(t *testing.T) {
	for name, hears := range map[string]func(*bench, *Caller){
		"restarts": func(b *bench, w *Caller) {
			var e Effects
			b.c, e = Recover(b.now, b.c.cfg, Past{ID: w.Fence, Deadline: b.c.Deadline(w), Callers: []*Caller{w}})
			b.did(e)
		},
		"renews": func(b *bench, _ *Caller) {
			b.did(b.c.Renewed(b.now, ledger.Renewal{ID: b.c.hold.id, TTL: ttl}, b.now, backend.ErrNotHeld))
		},
		"is told, and another one was broken since": func(b *bench, _ *Caller) {
			b.row.Record.Broken = 1
			b.did(b.c.Message(b.now, ledger.Broken, nil))
		},
	} {
		b := newBench(t, func(cfg *Config) { cfg.Restores = true })
		w := b.enter(exclusive())
		b.answer().accept(w)
		b.other(ledger.Op{Verb: ledger.Break, Hold: w.Fence})
		b.other(ledger.Op{Want: 1}) // another has it meanwhile
		b.other(ledger.Op{Verb: ledger.Leave})
		hears(b, w)
		why := Reason(0)
		for b.sent != nil {
			b.answer()
			for _, x := range b.last.Ended {
				why = x.Reason
			}
		}
		if why != ByForce || b.row.Record.Has("me") {
			t.Errorf("%s: it ended with %v, the store has %+v", name, why, b.row.Record)
		}
	}
}

// Of two who share a hold one is broken, and only that one ends: at once, or when the next
// process has taken the hold up.
func TestOneCallerIsBroken(t *testing.T) {
	for _, restarts := range []bool{false, true} {
		b := newBench(t, nil)
		ws := []*Caller{b.enter(shared()), b.enter(shared())}
		b.settle()
		b.accept(ws[0])
		b.accept(ws[1])
		hold := b.c.hold.id
		next, e := ledger.Step(b.row.Record, ledger.Op{Verb: ledger.Break, Node: "other", Hold: hold, Caller: ws[1].Fence}, b.now)
		if b.n++; !b.row.Swap(ledger.Swap{Base: b.row.Version, Record: next, Effects: e}, ledger.Version(rune('a'+b.n)), b.now, 1000) {
			t.Fatal("the mark is refused")
		}
		if restarts {
			var e Effects
			b.c, e = Recover(b.now, b.c.cfg, Past{ID: hold, Mode: backend.Shared, Deadline: b.c.End(), Callers: ws})
			b.did(e)
		} else {
			b.did(b.c.Message(b.now, ledger.Broken, nil))
		}
		var ended []Ended
		for b.sent != nil {
			b.answer()
			ended = append(ended, b.last.Ended...)
		}
		if len(ended) != 1 || ended[0] != (Ended{ws[1], ByForce}) || len(b.c.In()) != 1 {
			t.Errorf("restarts %v: ended %+v, in are %d", restarts, ended, len(b.c.In()))
		}
		if h := b.row.Record.Firm("me"); h == nil || h.ID != hold || len(h.Breaks) > 0 {
			t.Errorf("restarts %v: the store has %+v", restarts, b.row.Record)
		}
	}
}

// The store forgets that a hold was given back. Whoever waits then tells its node, which
// gives it back again; an older message, or one of somebody else's hold, is no reason to ask.
func TestHoldThatCameBackIsGivenBack(t *testing.T) {
	for what, tc := range map[string]struct {
		says func(*ledger.Reply) *ledger.Reply
		asks bool
	}{
		"with the record": {func(r *ledger.Reply) *ledger.Reply { return r }, true},
		"without":         {func(*ledger.Reply) *ledger.Reply { return nil }, true},
		"old":             {func(r *ledger.Reply) *ledger.Reply { r.Clock = 5; return r }, false},
		"of another": {func(r *ledger.Reply) *ledger.Reply {
			r.Record.Holds[0].Node = "third"
			return r
		}, false},
	} {
		b := newBench(t, nil)
		w := b.enter(exclusive())
		b.answer().accept(w)
		held := b.row
		b.did(b.c.Release(b.now, w))
		r := b.carryOut()
		r.Clock = 10
		b.did(b.c.Reply(b.now, r, nil))
		b.row = held
		b.other(ledger.Op{Want: 1})
		r = b.row.Reply(b.now)
		r.Clock = 20
		if b.did(b.c.Message(b.now, ledger.Waits, tc.says(&r))); (b.sent != nil) != tc.asks {
			t.Errorf("%s: sent %+v", what, b.sent)
		}
		if !tc.asks {
			continue
		}
		if b.settle(); b.row.Record.Firm(b.c.cfg.Node) != nil || b.row.Record.Offer("other") == nil {
			t.Errorf("%s: the record is %+v", what, b.row.Record)
		}
	}
}

// Who hears of others while its own grant is under way need not look: that is what the answer
// tells.
func TestNoLookWhileTheGrantIsUnderWay(t *testing.T) {
	b := newBench(t, nil)
	w := b.enter(exclusive())
	granted := b.carryOut()
	b.other(ledger.Op{Want: 1})
	r := b.row.Reply(b.now)
	r.Clock = 20
	b.did(b.c.Message(b.now, ledger.Waits, &r))
	b.sent = nil
	if b.did(b.c.Reply(b.now, granted, nil)); b.sent != nil || !b.accept(w) {
		t.Errorf("sent %+v", b.sent)
	}
}

// Nobody is let in under a hold that the store has forgotten, before it is written down again.
func TestNobodyComesInUnderAForgottenHold(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Restores = true })
	w := b.enter(exclusive())
	b.answer().accept(w)
	b.row = ledger.Row{}
	b.did(b.c.Renewed(b.now, ledger.Renewal{ID: b.c.hold.id, TTL: ttl}, b.now, backend.ErrNotHeld))
	b.answer() // sees that it is not there
	next := b.enter(exclusive())
	b.did(b.c.Release(b.now, w))
	if b.accept(next) {
		t.Error("let in before the store has answered")
	}
	if !b.wait(next) {
		t.Error("never let in")
	}
}
