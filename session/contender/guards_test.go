package contender

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

// held is a bench whose caller w has been told that it holds the name.
func held(t *testing.T, w *Caller, change func(*Config)) *bench {
	t.Helper()
	b := newBench(t, change)
	b.enter(w)
	if b.answer(); !b.accept(w) {
		t.Fatal("not granted")
	}
	return b
}

// Whatever happens first after a deadline ends the hold, and is carried out for one who has lost it.
func TestEveryEventLooksAtTheTime(t *testing.T) {
	for name, event := range map[string]func(c *Contender, now time.Duration, w *Caller) Effects{
		"tick":        func(c *Contender, now time.Duration, _ *Caller) Effects { return c.Tick(now) },
		"enter":       func(c *Contender, now time.Duration, _ *Caller) Effects { return c.Enter(now, exclusive()) },
		"hurry":       func(c *Contender, now time.Duration, w *Caller) Effects { return c.Hurry(now, w) },
		"release":     func(c *Contender, now time.Duration, w *Caller) Effects { return c.Release(now, w) },
		"set entries": func(c *Contender, now time.Duration, w *Caller) Effects { return c.SetEntries(now, w, 2) },
		"describe":    func(c *Contender, now time.Duration, _ *Caller) Effects { return c.Describe(now) },
		"loosen":      func(c *Contender, now time.Duration, w *Caller) Effects { return c.Loosen(now, w) },
		"resync":      func(c *Contender, now time.Duration, _ *Caller) Effects { return c.Resync(now) },
		"told":        func(c *Contender, now time.Duration, _ *Caller) Effects { return c.Told(now, nil) },
		"message":     func(c *Contender, now time.Duration, _ *Caller) Effects { return c.Message(now, ledger.Look, nil) },
		"accept": func(c *Contender, now time.Duration, w *Caller) Effects {
			_, e := c.Accept(now, w)
			return e
		},
		"prolong": func(c *Contender, now time.Duration, w *Caller) Effects {
			_, ok, e := c.Prolong(now, w, ttl)
			if ok {
				e.Ended = nil
			}
			return e
		},
		"prolonged": func(c *Contender, now time.Duration, w *Caller) Effects {
			return c.Prolonged(now, w, ledger.Renewal{ID: c.Hold(), TTL: 10 * ttl}, now-time.Second, nil)
		},
		"renewed": func(c *Contender, now time.Duration, _ *Caller) Effects {
			return c.Renewed(now, ledger.Renewal{ID: c.Hold(), TTL: 10 * ttl}, now-time.Second, nil)
		},
	} {
		for _, fixed := range []bool{false, true} {
			w := exclusive()
			w.Fixed = fixed
			b := held(t, w, nil)
			b.now = b.c.Deadline(w)
			e := event(b.c, b.now, w)
			if !slices.Equal(e.Ended, []Ended{{w, Expired}}) || w.Holds() {
				t.Errorf("%s, fixed %v: ended are %+v, want the one who had the name, expired", name, fixed, e.Ended)
			}
		}
	}
}

// What one alone held for too long is nobody's for a while, from one write on.
func TestDelayAfterMaxHold(t *testing.T) {
	for _, mode := range []backend.Mode{backend.Exclusive, backend.Shared} {
		w := &Caller{TTL: ttl, Owner: "w:1", Mode: mode, MaxHold: time.Second}
		b := held(t, w, func(c *Config) { c.Delay = 5 * time.Second })
		if b.last.Timer != b.now+time.Second {
			t.Errorf("the timer is at %v, want the end of the hold at %v", b.last.Timer, b.now+time.Second)
		}
		b.now = b.last.Timer
		if e := b.did(b.c.Tick(b.now)); !slices.Equal(e.Ended, []Ended{{w, MaxHold}}) {
			t.Errorf("ended are %+v", e.Ended)
		}
		next := b.enter(exclusive())
		b.settle()
		want := 0
		if mode == backend.Exclusive {
			want = 1
		}
		barred := slices.DeleteFunc(slices.Clone(b.row.Record.Holds), func(h ledger.Hold) bool { return h.Node != "" })
		if len(barred) != want || b.accept(next) == (want == 1) {
			t.Errorf("mode %d: kept from all is %+v, want %d such holds", mode, barred, want)
		}
		if want == 0 {
			continue
		}
		b.now += 5 * time.Second
		b.did(b.c.Tick(b.now))
		if b.settle(); !b.accept(next) || len(b.row.Record.Holds) != 1 {
			t.Errorf("afterwards the record is %+v", b.row.Record)
		}
	}
}

// So is what one alone lost by the end of its lease, if it was told of it.
func TestDelayAfterLease(t *testing.T) {
	for _, fixed := range []bool{true, false} {
		for _, told := range []bool{true, false} {
			b := newBench(t, func(c *Config) { c.Delay = 5 * time.Second })
			w := exclusive()
			w.Fixed = fixed
			b.enter(w)
			b.answer()
			if told && !b.accept(w) {
				t.Fatal("not granted")
			}
			b.now += ttl - ttl/100
			if fixed { // the lease goes on in the store
				b.now -= time.Second
				w.Until -= time.Second
			}
			b.did(b.c.Tick(b.now))
			b.settle()
			kept := slices.ContainsFunc(b.row.Record.Holds, func(h ledger.Hold) bool { return h.Node == "" })
			if kept != told {
				t.Errorf("fixed %v, told %v: kept from all: %v", fixed, told, kept)
			}
		}
	}
}

// Of a block out of which a hold was ended by force no further fence is given.
func TestNoFenceOfABrokenBlock(t *testing.T) {
	w, next := exclusive(), exclusive()
	b := held(t, w, nil)
	b.enter(next)
	top := b.row.Record.Top
	b.did(b.c.Lose(b.now, w, ByForce))
	if last, _ := b.c.Last(); b.accept(next) || last != top {
		t.Fatalf("the next one has fence %d of the same block, and the last is %d, want %d", next.Fence, last, top)
	}
	if b.settle(); !b.accept(next) || next.Fence <= top {
		t.Errorf("the next one has fence %d, want one above %d", next.Fence, top)
	}
}

// What is kept for a while stays, and goes when its time is over.
func TestMinHoldEnds(t *testing.T) {
	w := exclusive()
	w.MinHold = 5 * time.Second
	b := held(t, w, nil)
	b.now += time.Second
	b.did(b.c.Release(b.now, w))
	if got := b.kinds(); !slices.Equal(got, []EntryKind{Released}) || b.last.Timer != w.MinHoldAt {
		t.Errorf("journaled %v, timer %v, want %v", got, b.last.Timer, w.MinHoldAt)
	}
	if b.did(b.c.Release(b.now, w)); len(b.last.Journal) != 0 {
		t.Errorf("released again: journaled %v", b.kinds())
	}
	if b.now = w.MinHoldAt - 1; b.did(b.c.Tick(b.now)).Send != nil || !w.Holds() {
		t.Error("given back before its time")
	}
	b.now++
	b.did(b.c.Tick(b.now))
	if got := b.kinds(); !slices.Equal(got, []EntryKind{End}) || len(b.last.Ended) != 0 {
		t.Errorf("journaled %v, ended %v, want one end that nobody is told of", got, b.last.Ended)
	}
	if b.settle(); b.row.Record.Has("me") {
		t.Errorf("the record is %+v", b.row.Record)
	}
}

// A lease that the watchdog renews has no other end than that of the hold, and one that has ended
// is not written about.
func TestProlongGuards(t *testing.T) {
	w := exclusive()
	b := held(t, w, nil)
	if b.prolong(w, ttl); w.Until != 0 {
		t.Errorf("a lease under the watchdog is over at %v", w.Until)
	}
	if b.did(b.c.Loosen(b.now, w)); len(b.last.Journal) != 0 {
		t.Errorf("loosened twice: %v", b.kinds())
	}
	w = exclusive()
	w.Fixed = true
	b = held(t, w, nil)
	b.now += time.Second
	r, _, e := b.c.Prolong(b.now, w, 2*ttl)
	if b.did(e); !slices.Equal(b.kinds(), []EntryKind{Lease}) {
		t.Errorf("journaled %v, want the longer lease", b.kinds())
	}
	until := w.Until
	b.did(b.c.Prolonged(b.now, w, r, b.now, backend.ErrUnavailable))
	if w.Until != until || len(b.last.Journal) != 0 {
		t.Errorf("until %v without an answer, want %v", w.Until, until)
	}
	r, _, e = b.c.Prolong(b.now, w, 2*ttl)
	b.did(e)
	b.did(b.c.Prolonged(b.now, w, r, b.now, nil))
	if !slices.Equal(b.kinds(), []EntryKind{Deadline, Lease}) {
		t.Errorf("journaled %v, want the later deadline and the lease", b.kinds())
	}
	r, _, e = b.c.Prolong(b.now, w, 4*ttl)
	b.did(e)
	b.enter(&Caller{TTL: 4 * ttl, Owner: "y:1"}) // has the hold after w
	b.did(b.c.Release(b.now, w))
	b.did(b.c.Prolonged(b.now, w, r, b.now, nil))
	if len(b.last.Journal) != 0 {
		t.Errorf("journaled %v of one who has released", b.kinds())
	}
	if b.did(b.c.Loosen(b.now, w)); len(b.last.Journal) != 0 {
		t.Errorf("journaled %v of one who has released", b.kinds())
	}
}

// The answer to a renewal of an earlier hold says nothing of this one.
func TestRenewalOfAnEarlierHold(t *testing.T) {
	w := exclusive()
	b := held(t, w, nil)
	r, _, e := b.c.Prolong(b.now, w, 10*ttl)
	b.did(e)
	b.did(b.c.Release(b.now, w))
	b.settle()
	next := b.enter(exclusive())
	b.answer().accept(next)
	end := b.c.Deadline(next)
	if b.did(b.c.Prolonged(b.now, w, r, b.now, nil)); b.c.Deadline(next) != end {
		t.Errorf("it holds until %v, want %v", b.c.Deadline(next), end)
	}
	if b.did(b.c.Prolonged(b.now, w, r, b.now, backend.ErrUnavailable)); b.c.Failing() || b.last.Jeopardy {
		t.Error("it is in jeopardy")
	}
}

// A renewal without an answer is tried again soon, and its holder told once.
func TestRenewalWithoutAnswer(t *testing.T) {
	w := exclusive()
	b := held(t, w, nil)
	for i := range 2 {
		b.now = b.last.Timer
		r := b.did(b.c.Tick(b.now)).Renew
		if r == nil || b.last.Timer != b.c.Deadline(w) {
			t.Fatalf("renews %+v, timer %v, want the deadline while that is under way", r, b.last.Timer)
		}
		e := b.did(b.c.Renewed(b.now, *r, b.now, backend.ErrUnavailable))
		if e.Jeopardy != (i == 0) || !b.c.Failing() || e.Timer != b.now+b.c.cfg.Retry {
			t.Errorf("try %d: jeopardy %v, failing %v, again at %v", i, e.Jeopardy, b.c.Failing(), e.Timer)
		}
	}
}

// Those who have asked are told that the store does not serve, others ask for themselves.
func TestRefusedAndFailed(t *testing.T) {
	try := func(b *bench) *Caller {
		w := shared()
		w.NoWait = true
		return b.enter(w)
	}
	for name, tt := range map[string]struct {
		err  error
		want []Reason // of one that does not wait, and one that does
	}{
		"refused":   {backend.ErrRefused, []Reason{Refused, 0}},
		"failed":    {errors.New("no space"), []Reason{Failed, Failed}},
		"no answer": {backend.ErrUnavailable, []Reason{0, 0}},
	} {
		for i, enter := range []func(*bench) *Caller{try, func(b *bench) *Caller { return b.enter(shared()) }} {
			b := newBench(t, nil)
			asked := enter(b)
			late := try(b)
			b.did(b.c.Reply(b.now, ledger.Reply{}, tt.err))
			got := Reason(0)
			if j := slices.IndexFunc(b.last.Ended, func(e Ended) bool { return e.Caller == asked }); j >= 0 {
				got = b.last.Ended[j].Reason
			}
			if got != tt.want[i] || !late.Waits() || b.last.Send != nil {
				t.Errorf("%s: one who has asked is told %v, want %v; one who has not waits: %v", name, got, tt.want[i], late.Waits())
			}
		}
	}
}

// What was asked for one who was told that it failed is undone at once.
func TestFailedIsUndone(t *testing.T) {
	b := newBench(t, nil)
	b.enter(exclusive())
	if b.did(b.c.Reply(b.now, ledger.Reply{}, errors.New("no space"))); b.last.Send == nil {
		t.Error("what the store may have done stays")
	}
}

// Nobody who waits here comes in under a hold that was lost, whoever has the name by then.
func TestNobodyComesInUnderALostHold(t *testing.T) {
	for name, lost := range map[string]func(b *bench, w *Caller){
		"held for too long, and kept from all": func(b *bench, w *Caller) {
			b.now = w.MaxHoldAt
			b.did(b.c.Tick(b.now))
		},
		"the store does not have it": func(b *bench, _ *Caller) {
			b.row.Record.Holds, b.row.Version = nil, "gone"
			b.did(b.c.Message(b.now, ledger.Look, nil))
			b.answer()
		},
		"the store has another one of the node": func(b *bench, _ *Caller) {
			h := b.row.Record.Firm("me")
			b.row.Record.Top, b.row.Version = b.row.Record.Top+64, "other"
			h.ID += 64
			h.Block = h.ID
			b.did(b.c.Message(b.now, ledger.Look, nil))
			b.answer()
		},
	} {
		w, next := exclusive(), exclusive()
		w.MaxHold = time.Second
		b := held(t, w, func(c *Config) { c.Delay = time.Minute })
		b.enter(next)
		lost(b, w)
		if len(b.last.Ended) != 1 || b.last.Ended[0].Caller != w {
			t.Errorf("%s: ended are %+v, want the one who had the name", name, b.last.Ended)
		}
		if b.accept(next) {
			t.Errorf("%s: the next one came in", name)
		}
	}
}

// A hold that was given back for another kind of hold is not there any more, whoever comes for it.
func TestNobodyComesInUnderAHoldThatWasGivenBack(t *testing.T) {
	reader, writer := shared(), exclusive()
	b := held(t, reader, nil)
	b.other(ledger.Op{Want: 1})
	b.enter(writer)
	b.settle()
	b.did(b.c.Release(b.now, reader))
	b.settle()
	b.other(ledger.Op{Want: 1}) // takes what it was offered
	late := b.enter(shared())
	b.did(b.c.Release(b.now, writer))
	if b.row.Record.Firm("other") == nil || b.accept(late) {
		t.Errorf("let in beside %+v", b.row.Record.Holds)
	}
}

// The journal has the name before anything of this node may be in the store, and again once that
// was so no more.
func TestIntentIsJournaledFirst(t *testing.T) {
	b := newBench(t, nil)
	for range 2 {
		w := b.enter(exclusive())
		if got := b.kinds(); b.sent == nil || !slices.Equal(got, []EntryKind{Intent}) {
			t.Fatalf("journaled %v before the first write, want an intent", got)
		}
		b.answer().accept(w)
		b.did(b.c.Release(b.now, w))
		if b.settle(); !slices.Contains(b.kinds(), Clear) {
			t.Fatalf("journaled %v at the end, want that nothing is there", b.kinds())
		}
	}
}

// A record that is an older one again has a fence that this node has seen since; it is not given twice.
func TestFenceAboveAnOlderRecord(t *testing.T) {
	w := exclusive()
	b := held(t, w, nil)
	b.did(b.c.Release(b.now, w))
	b.settle()
	older := b.row
	w = b.enter(exclusive())
	b.answer().accept(w)
	b.did(b.c.Release(b.now, w))
	b.settle()
	older.Version = "older"
	b.row = older
	next := b.enter(exclusive())
	if b.settle(); !b.accept(next) || next.Fence <= w.Fence {
		t.Errorf("fence %d after %d", next.Fence, w.Fence)
	}
}

// With Config.Exact a turn is told once a write tells of it that was sent after it began.
func TestExactTurnIsWrittenFirst(t *testing.T) {
	w, next := exclusive(), exclusive()
	next.Owner = "y:1"
	b := held(t, w, func(c *Config) { c.Exact = true })
	b.did(b.c.SetEntries(b.now, w, 2))
	b.enter(next)
	b.now += time.Millisecond
	b.did(b.c.Release(b.now, w)) // the turn of next begins while the write for w is under way
	if b.accept(next) {
		t.Fatal("told before any write")
	}
	if b.answer(); slices.Contains(b.last.Granted, next) || b.accept(next) {
		t.Error("told by a write that was sent before its turn")
	}
	if b.answer(); !slices.Contains(b.last.Granted, next) || b.row.Record.Firm("me").Callers[0].Owner != next.Owner {
		t.Errorf("not told, and the record says %+v", b.row.Record.Holds)
	}
}
