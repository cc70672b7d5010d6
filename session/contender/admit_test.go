package contender

import (
	"slices"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

// The record has the newest fence that a caller was given, by which an earlier one is told from it.
func TestRecordHasTheNewestFence(t *testing.T) {
	w := exclusive()
	b := held(t, w, nil)
	next := b.enter(exclusive())
	b.did(b.c.Release(b.now, w))
	b.accept(next)
	b.did(b.c.Release(b.now, next))
	if b.settle(); b.row.Record.Last != next.Fence {
		t.Errorf("the newest fence is %d, want %d", b.row.Record.Last, next.Fence)
	}
}

// Who asks for a lease that the store does not have is told when it does, and that lease counts
// from the write.
func TestLeaseIsWrittenBeforeItIsTold(t *testing.T) {
	for name, tt := range map[string]struct {
		mode   backend.Mode
		ttl    time.Duration
		fixed  bool
		atOnce bool
	}{
		"alone, as long":   {backend.Exclusive, ttl, false, true},
		"alone, longer":    {backend.Exclusive, 2 * ttl, false, false},
		"alone, shorter":   {backend.Exclusive, ttl / 2, false, false},
		"alone, fixed":     {backend.Exclusive, ttl, true, false},
		"together, longer": {backend.Shared, 2 * ttl, false, false},
		"together, fixed":  {backend.Shared, ttl, true, false},
		"together":         {backend.Shared, ttl / 2, false, true},
	} {
		first := &Caller{TTL: ttl, Owner: "w:1", Mode: tt.mode}
		b := held(t, first, nil)
		b.now += ttl / 4
		next := b.enter(&Caller{TTL: tt.ttl, Owner: "w:1", Mode: tt.mode, Fixed: tt.fixed})
		b.did(b.c.Release(b.now, first))
		if b.accept(next) != tt.atOnce {
			t.Errorf("%s: told at once: %v", name, !tt.atOnce)
		}
		if tt.atOnce {
			continue
		}
		want := b.now + tt.ttl - tt.ttl/100
		b.settle()
		if !b.accept(next) || b.c.Deadline(next) != want || (next.Until != 0) != tt.fixed || next.Fence != first.Fence+1 {
			t.Errorf("%s: fence %d, until %v, want %v; fixed until %v", name, next.Fence, b.c.Deadline(next), want, next.Until)
		}
	}
}

// The rest of a lease that was not renewed is given to nobody before it is.
func TestRestOfALeaseIsGivenToNobody(t *testing.T) {
	w := exclusive()
	b := held(t, w, nil)
	next := b.enter(exclusive())
	b.now += ttl * 3 / 4
	r := b.did(b.c.Release(b.now, w)).Renew
	if b.accept(next) || r == nil {
		t.Fatalf("let in for the rest of a lease, or waits for ever: the renewal is %v", r)
	}
	if b.did(b.c.Renewed(b.now, *r, b.now, nil)); !b.accept(next) {
		t.Error("not let in when it was renewed")
	}
}

// But who was granted the name by a slow store has it.
func TestGrantOfASlowStore(t *testing.T) {
	b := newBench(t, nil)
	w := b.enter(exclusive())
	r := b.carryOut()
	b.now += ttl * 3 / 4
	if b.did(b.c.Reply(b.now, r, nil)); !b.accept(w) {
		t.Error("not let in")
	}
}

// Who stood here when another node came to wait still comes in before it, for TurnTime.
func TestTurnsWhileAnotherNodeWaits(t *testing.T) {
	for name, tt := range map[string]struct {
		after time.Duration
		wants bool
		in    bool
	}{
		"in time":              {49 * time.Millisecond, true, true},
		"too late":             {50 * time.Millisecond, true, false},
		"does not want it now": {0, false, false},
	} {
		w, next := exclusive(), exclusive()
		b := held(t, w, nil)
		b.enter(next)
		b.other(ledger.Op{Want: 1})
		b.did(b.c.Message(b.now, ledger.Waits, nil))
		b.now += tt.after
		late := b.enter(exclusive())
		b.did(b.c.Message(b.now, ledger.Waits, nil)) // and so does a third node
		if !tt.wants {
			b.did(b.c.Release(b.now, next))
			b.did(b.c.Release(b.now, late))
		}
		b.did(b.c.Release(b.now, w))
		if got := b.accept(next); got != tt.in {
			t.Errorf("%s: let in %v", name, got)
		}
		if b.did(b.c.Release(b.now, next)); b.accept(late) {
			t.Errorf("%s: one who came later is let in before the other node", name)
		}
		if b.settle(); b.row.Record.Offer("other") == nil {
			t.Errorf("%s: the record is %+v", name, b.row.Record)
		}
	}
}

// However many permits there are, no fence is given that the store has not set aside for this node.
func TestFencesOfPermitsAreThoseOfTheirBlock(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Turns = 2 })
	var last backend.Fence
	for range 5 {
		var ws []*Caller
		for range permits {
			ws = append(ws, b.enter(permit()))
		}
		for _, w := range ws {
			if b.settle(); !b.accept(w) || w.Fence <= last || w.Fence > b.row.Record.Top {
				t.Fatalf("fence %d after %d, the store knows of %d", w.Fence, last, b.row.Record.Top)
			}
			last = w.Fence
		}
		for _, w := range ws {
			b.did(b.c.Release(b.now, w))
		}
	}
}

// A permit that was granted for one who gave up is not for one who came after another node.
func TestPermitForOneWhoGaveUp(t *testing.T) {
	b := held(t, permit(), nil)
	b.other(ledger.Op{Node: "holder", Mode: permits, Want: int(permits) - 1})
	w := b.enter(permit())
	b.settle()
	b.other(ledger.Op{Mode: permits, Want: 1})
	b.other(ledger.Op{Node: "holder", Mode: permits, Keep: int(permits) - 2})
	b.did(b.c.Message(b.now, ledger.Look, nil))
	for b.sent.Swap == nil {
		b.answer()
	}
	b.did(b.c.Release(b.now, w)) // while its permit is being taken
	late := b.enter(permit())
	if b.answer(); b.accept(late) {
		t.Error("let in before the other node")
	}
	if b.settle(); b.row.Record.Offer("other") == nil {
		t.Errorf("the record is %+v", b.row.Record)
	}
}

// Where the order is strict, what was granted for one who gave up is not for the next here if
// another node came before that one.
func TestStrictOrderWhenTheFirstGivesUp(t *testing.T) {
	for name, tt := range map[string]struct {
		came    time.Duration // of another node, as seen from the second here
		suspect bool
		in      bool
	}{
		"another came before": {-time.Millisecond, false, false},
		"another came later":  {time.Millisecond, false, true},
		"it seems to be dead": {-time.Millisecond, true, true},
	} {
		b := newBench(t, func(c *Config) { c.Strict, c.Turns = true, 1 })
		answer := func() {
			r := b.carryOut()
			r.Clock = b.now.Microseconds()
			b.did(b.c.Reply(b.now, r, nil))
		}
		b.other(ledger.Op{Node: "holder", Want: 1})
		first := b.enter(exclusive())
		for b.sent != nil {
			answer()
		}
		b.now += time.Second
		second := b.enter(exclusive())
		b.other(ledger.Op{Want: 1, Strict: true, Since: (b.now + tt.came).Microseconds()})
		b.row.Record.Entry("other").Suspect = tt.suspect
		b.other(ledger.Op{Node: "holder", Verb: ledger.Leave})
		b.now += time.Second
		b.did(b.c.Message(b.now, ledger.Look, nil))
		for b.sent != nil && b.sent.Swap == nil {
			answer()
		}
		b.did(b.c.Release(b.now, first)) // while the name is being taken for it
		answer()
		if got := b.accept(second); got != tt.in {
			t.Errorf("%s: let in %v, the record is %+v", name, got, b.row.Record)
		}
	}
}

// A name that is held or waited for here is of one kind.
func TestConflictWithTheNodesOwn(t *testing.T) {
	for name, waits := range map[string]bool{"held": false, "waited for": true} {
		b := newBench(t, nil)
		if waits {
			b.other(ledger.Op{Want: 1})
		}
		b.enter(exclusive())
		b.settle()
		w := permit()
		if b.enter(w); !slices.Equal(b.last.Ended, []Ended{{w, Conflict}}) {
			t.Errorf("%s: ended are %+v", name, b.last.Ended)
		}
	}
}

// One who does not want to wait is turned away at once where one of its node has the name alone.
func TestTryBesideOneWhoHasItAlone(t *testing.T) {
	b := held(t, exclusive(), nil)
	try := shared()
	try.NoWait = true
	if b.enter(try); !slices.Equal(b.last.Ended, []Ended{{try, Held}}) {
		t.Errorf("ended are %+v", b.last.Ended)
	}
}

// What is known of a name may be old: one who would be refused for it has the store asked first.
func TestNobodyIsRefusedForWhatWas(t *testing.T) {
	for name, mode := range map[string]backend.Mode{"held": backend.Exclusive, "another kind": permits} {
		b := newBench(t, nil)
		b.other(ledger.Op{Want: 1, Mode: mode})
		enter := func() *Caller {
			w := exclusive()
			w.NoWait = mode == backend.Exclusive
			return b.enter(w)
		}
		enter()
		if b.settle(); len(b.last.Ended) != 1 {
			t.Fatalf("%s: not refused", name)
		}
		b.other(ledger.Op{Verb: ledger.Leave}) // and the message is lost
		w := enter()
		if b.settle(); !b.accept(w) {
			t.Errorf("%s: ended are %+v", name, b.last.Ended)
		}
	}
}

// Who waits goes on waiting when one that does not want to is turned away.
func TestTryBeforeOneWhoWaits(t *testing.T) {
	b := newBench(t, nil)
	b.other(ledger.Op{Want: 1})
	try := shared()
	try.NoWait = true
	b.enter(try)
	w := b.enter(shared())
	if b.settle(); try.Waits() || !w.Waits() || b.row.Record.Entry("me") == nil {
		t.Errorf("the try waits %v, the other %v, the record is %+v", try.Waits(), w.Waits(), b.row.Record)
	}
}

// Whatever is written on behalf of others, nobody's lease ends before it was told to.
func TestNoLeaseIsMadeShorterThanWasTold(t *testing.T) {
	for name, write := range map[string]func(b *bench, long *Caller){
		"one with a longer lease goes": func(b *bench, long *Caller) {
			b.did(b.c.Release(b.now, long))
			b.did(b.c.Describe(b.now))
		},
		"one comes who wants it alone": func(b *bench, _ *Caller) {
			b.enter(exclusive())
			b.did(b.c.Describe(b.now))
		},
	} {
		long, w := shared(), shared()
		long.TTL = 10 * ttl
		b := held(t, long, nil)
		if b.enter(w); !b.accept(w) {
			t.Fatal("not let in")
		}
		if name == "one comes who wants it alone" {
			b.did(b.c.Release(b.now, w))
			w = long
		}
		until := b.c.Deadline(w)
		if write(b, long); b.sent == nil || b.c.Deadline(w) < until {
			t.Errorf("%s: sent %+v, it ends %v too soon", name, b.sent, until-b.c.Deadline(w))
		}
		if b.settle(); b.c.Deadline(w) < until || b.row.Record.Firm("me").End < until {
			t.Errorf("%s: by the store it ends %v too soon", name, until-b.row.Record.Firm("me").End)
		}
	}
}

// An offer that is not taken is passed on when it is over.
func TestOfferThatIsNotTaken(t *testing.T) {
	w := exclusive()
	b := held(t, w, nil)
	b.other(ledger.Op{Want: 1})
	b.other(ledger.Op{Node: "another", Want: 1})
	b.did(b.c.Message(b.now, ledger.Waits, nil))
	b.did(b.c.Release(b.now, w))
	b.settle()
	if b.row.Record.Offer("other") == nil || b.last.Timer != b.now+time.Second {
		t.Fatalf("the timer is at %v, the record is %+v", b.last.Timer-b.now, b.row.Record)
	}
	b.now = b.last.Timer
	b.did(b.c.Tick(b.now))
	if b.settle(); b.row.Record.Offer("another") == nil {
		t.Errorf("the record is %+v", b.row.Record)
	}
}

// Nobody takes more permits than are wanted.
func TestPermitsAsManyAsAreWanted(t *testing.T) {
	b := newBench(t, nil)
	b.enter(permit())
	if b.answer(); b.row.Record.Firm("me").Count != 1 {
		t.Errorf("one has got %d permits", b.row.Record.Firm("me").Count)
	}
}
