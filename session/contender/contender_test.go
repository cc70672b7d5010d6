package contender

import (
	"slices"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

const ttl = 30 * time.Second

// bench is one contender before a store that answers when it is told to.
type bench struct {
	*testing.T
	c    *Contender
	row  ledger.Row
	now  time.Duration
	last Effects
	sent *Request // not yet carried out
	n    int
	// clock: the store's goes on as now does; else it stands. fast: by a hundredth faster.
	clock, fast bool
	// announced: who may be told, by Effects.Granted.
	announced []*Caller
	// asked are those of Effects.Ask.
	asked []string
}

func newBench(t *testing.T, change func(*Config)) *bench {
	cfg := &Config{Node: "me", Turns: 64, TurnTime: 50 * time.Millisecond, Offer: time.Second, Retry: 100 * time.Millisecond,
		Margin: func(ttl time.Duration) time.Duration { return ttl / 100 }}
	if change != nil {
		change(cfg)
	}
	return &bench{T: t, c: New(cfg), now: time.Hour}
}

// there is what the time of the node is for the store.
func (b *bench) there(now time.Duration) time.Duration {
	if b.fast {
		return now + (now-time.Hour)/100
	}
	return now
}

func (b *bench) did(e Effects) Effects {
	b.last = e
	b.announced = append(b.announced, e.Granted...)
	b.asked = append(b.asked, e.Ask...)
	if e.Send != nil {
		b.sent = e.Send
	}
	return e
}

func (b *bench) enter(w *Caller) *Caller {
	b.did(b.c.Enter(b.now, w))
	return w
}

// carryOut has the store do what was sent; the answer is returned.
func (b *bench) carryOut() ledger.Reply {
	b.Helper()
	q := b.sent
	if q == nil {
		b.Fatal("nothing was sent")
	}
	b.sent = nil
	b.n++
	version, written := ledger.Version(rune('a'+b.n)), false
	clock := backend.Fence(1000)
	if b.clock {
		clock = backend.Fence(b.there(b.now).Microseconds())
	}
	switch {
	case q.Swap != nil:
		written = b.row.Swap(*q.Swap, version, b.there(b.now), clock)
	case q.Join != nil:
		b.row.Join(*q.Join, version)
	}
	r := b.row.Reply(b.there(b.now))
	r.Written = written
	return r
}

// answer has the store do what was sent, and say so.
func (b *bench) answer() *bench {
	b.Helper()
	r := b.carryOut()
	b.did(b.c.Reply(b.now, r, nil))
	return b
}

func (b *bench) accept(w *Caller) bool {
	b.Helper()
	ok, e := b.c.Accept(b.now, w)
	if b.did(e); ok && !slices.Contains(b.announced, w) {
		b.Error("one is let in, and nobody hears of it")
	}
	return ok
}

// other is another node, whose copy is always fresh.
func (b *bench) other(op ledger.Op) {
	b.Helper()
	if op.Node == "" {
		op.Node = "other"
	}
	op.Turns, op.TTL, op.OfferTTL, op.Lapse = 64, ttl, time.Second, true
	if h := b.row.Record.Firm(op.Node); h != nil {
		op.Hold = h.ID
	}
	next, e := ledger.Step(b.row.Record, op, b.there(b.now))
	b.n++
	if !b.row.Swap(ledger.Swap{Base: b.row.Version, Record: next, Effects: e}, ledger.Version(rune('a'+b.n)), b.there(b.now), 1000) {
		b.Fatal("the other node's write is refused")
	}
}

func exclusive() *Caller { return &Caller{TTL: ttl, Owner: "x:1"} }
func shared() *Caller    { return &Caller{TTL: ttl, Owner: "s:1", Mode: backend.Shared} }

func TestUndisturbedPairIsTwoRoundTrips(t *testing.T) {
	b := newBench(t, nil)
	for i := range 3 {
		w := b.enter(exclusive())
		b.answer()
		if !b.accept(w) {
			t.Fatalf("pair %d: not granted by one request", i)
		}
		b.did(b.c.Release(b.now, w))
		b.answer()
		if b.sent != nil || !b.c.Quiet() {
			t.Fatalf("pair %d: not free after one request: %+v", i, b.sent)
		}
	}
}

func TestTurnsCostNothing(t *testing.T) {
	b := newBench(t, nil)
	var w []*Caller
	for _, owner := range []backend.Owner{"x:1", "y:1", "z:1"} {
		w = append(w, b.enter(&Caller{TTL: ttl, Owner: owner}))
	}
	b.answer()
	for i, x := range w {
		if !b.accept(x) {
			t.Fatalf("caller %d has no turn", i)
		}
		if i > 0 && x.Fence != w[i-1].Fence+1 {
			t.Errorf("caller %d has fence %d after %d", i, x.Fence, w[i-1].Fence)
		}
		b.did(b.c.Release(b.now, x))
		if i < 2 && b.sent != nil {
			t.Errorf("the store is asked for turn %d", i+1)
		}
	}
}

func TestRenewalCountsFromItsSending(t *testing.T) {
	b := newBench(t, nil)
	w := b.enter(exclusive())
	b.answer().accept(w)
	b.now += ttl / 3
	e := b.did(b.c.Tick(b.now))
	if e.Renew == nil {
		t.Fatal("no renewal at a third of the lease")
	}
	sentAt := b.now
	b.now += ttl / 3 // the answer is slow
	b.did(b.c.Renewed(b.now, *e.Renew, sentAt, nil))
	if got, want := b.c.Deadline(w), sentAt+ttl-ttl/100; got != want {
		t.Errorf("the deadline is %v, want %v", got, want)
	}
}

// One who comes while the hold is being given back waits for the outcome.
func TestNobodyComesInWhileTheHoldIsGivenBack(t *testing.T) {
	b := newBench(t, nil)
	reader, writer := b.enter(shared()), exclusive()
	b.answer().accept(reader)
	b.enter(writer)
	b.answer()
	b.did(b.c.Release(b.now, reader)) // shared goes, exclusive is asked for
	b.did(b.c.Release(b.now, writer)) // which nobody wants any more
	late := b.enter(shared())
	if b.accept(late) {
		t.Fatal("let in under a hold that is being given back")
	}
	for range 5 {
		if b.sent != nil {
			b.answer()
		}
	}
	if !b.accept(late) {
		t.Error("never let in")
	}
}

func TestWriteWithoutAnswerIsWrittenAgain(t *testing.T) {
	b := newBench(t, nil)
	w := b.enter(exclusive())
	lost := b.sent
	b.sent = nil
	b.did(b.c.Reply(b.now, ledger.Reply{}, backend.ErrUnavailable))
	b.did(b.c.Release(b.now, w)) // it gives up
	b.now += time.Second
	b.did(b.c.Tick(b.now))
	if b.sent == nil || b.sent.Swap == nil {
		t.Fatal("nothing is written, although the first write may still come")
	}
	b.answer()
	b.sent = lost
	if b.carryOut(); b.row.Record.Has("me") {
		t.Errorf("the late write has got the name for nobody: %+v", b.row.Record)
	}
	if !b.c.Quiet() {
		t.Error("not at rest")
	}
}

func TestOfferOfWhichNobodyHeardIsPassedOn(t *testing.T) {
	b := newBench(t, nil)
	w := b.enter(exclusive())
	b.answer().accept(w)
	b.other(ledger.Op{Want: 1})
	b.did(b.c.Release(b.now, w))
	b.answer() // too late: another version is there
	r := b.carryOut()
	if r.Record.Offer("other") == nil {
		t.Fatalf("not passed on: %+v", r.Record)
	}
	r.Unheard = []string{"other"}
	b.did(b.c.Reply(b.now, r, nil))
	if b.sent == nil {
		t.Fatal("the offer is waited for, although nobody heard of it")
	}
	b.answer()
	if b.row.Record.Offer("other") != nil || !b.row.Record.Entry("other").Suspect {
		t.Errorf("it is %+v", b.row.Record)
	}
}

func TestWaiterAsksOnceALease(t *testing.T) {
	b := newBench(t, nil)
	b.other(ledger.Op{Want: 1})
	b.enter(exclusive())
	for b.sent != nil {
		b.answer()
	}
	asked := 0
	for range 10 { // the other one renews
		b.now += ttl - time.Millisecond
		b.row.Renew(b.row.Record.Firm("other").ID, ttl, b.now)
		if at := b.last.Timer; at == 0 || at < b.now-ttl {
			t.Fatalf("the timer is at %v, now is %v", at, b.now)
		}
		b.now = max(b.now, b.last.Timer)
		b.did(b.c.Tick(b.now))
		for b.sent != nil {
			asked++
			b.answer()
		}
	}
	if asked > 10 {
		t.Errorf("asked %d times in 10 leases", asked)
	}
}

func TestTryAsksAndIsRefused(t *testing.T) {
	b := newBench(t, nil)
	b.other(ledger.Op{Want: 1})
	w := exclusive()
	w.NoWait = true
	b.enter(w)
	for b.sent != nil {
		b.answer()
	}
	if len(b.last.Ended) != 1 || b.last.Ended[0].Reason != Held || b.row.Record.Has("me") {
		t.Errorf("it ended with %+v, the store has %+v", b.last.Ended, b.row.Record)
	}
}

func TestConflict(t *testing.T) {
	b := newBench(t, nil)
	b.other(ledger.Op{Want: 1, Mode: 3})
	b.enter(exclusive())
	for range 3 {
		if b.sent != nil {
			b.answer()
		}
	}
	if len(b.last.Ended) != 1 || b.last.Ended[0].Reason != Conflict {
		t.Errorf("it ended with %+v", b.last.Ended)
	}
}

// What is over is in the record until somebody writes it, and nobody may but who is not refused.
func TestNoConflictWithWhatIsOver(t *testing.T) {
	b := newBench(t, nil)
	b.other(ledger.Op{Want: 1, Mode: 3})
	b.now += ttl + time.Millisecond
	w := exclusive()
	w.NoWait = true
	b.enter(w)
	for b.sent != nil {
		b.answer()
	}
	if !b.accept(w) {
		t.Errorf("it ended with %+v", b.last.Ended)
	}
}

func TestRetained(t *testing.T) {
	for retain, kept := range map[time.Duration]time.Duration{
		20 * time.Millisecond: 20 * time.Millisecond,
		time.Hour:             ttl - ttl/100 - ttl/3 - 2*time.Second, // and is not renewed
	} {
		b := newBench(t, func(c *Config) { c.Retain = retain })
		w := b.enter(exclusive())
		b.answer().accept(w)
		b.now += time.Second
		b.did(b.c.Release(b.now, w))
		if b.sent != nil {
			t.Fatal("given back at once")
		}
		w = b.enter(exclusive())
		if !b.accept(w) || b.sent != nil {
			t.Fatal("the store is asked, although the node has the name")
		}
		b.now += time.Second
		b.did(b.c.Release(b.now, w))
		if b.sent != nil || b.last.Timer != b.now+kept {
			t.Fatalf("with a retain of %v it is given back in %v, want %v", retain, b.last.Timer-b.now, kept)
		}
		b.now = b.last.Timer
		b.did(b.c.Tick(b.now))
		b.answer()
		if b.row.Record.Has("me") {
			t.Error("kept beyond its time")
		}
	}
}

func TestEntriesAreWrittenBeforeTheyCount(t *testing.T) {
	b := newBench(t, nil)
	w := b.enter(exclusive())
	b.answer().accept(w)
	b.did(b.c.SetEntries(b.now, w, 2))
	if len(b.last.Written) != 0 {
		t.Fatal("told before the store knows")
	}
	b.answer()
	if len(b.last.Written) != 1 || b.row.Record.Firm("me").Callers[0].Entries != 2 {
		t.Errorf("written %v, the store has %+v", b.last.Written, b.row.Record.Firm("me"))
	}
}

func TestForgottenHoldIsWrittenDownAgain(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Restores = true })
	w := b.enter(exclusive())
	b.answer().accept(w)
	b.row = ledger.Row{} // the store comes back empty
	b.now += ttl / 2
	if b.did(b.c.Renewed(b.now, ledger.Renewal{ID: b.c.hold.id, TTL: ttl}, b.now, backend.ErrNotHeld)); b.last.Renew != nil {
		t.Error("renewed again at once")
	}
	for b.sent != nil {
		b.answer()
	}
	if h := b.row.Record.Firm("me"); h == nil || h.ID != w.Fence || len(b.last.Ended) != 0 {
		t.Errorf("the store has %+v, ended %v", b.row.Record, b.last.Ended)
	}
}

const permits = backend.Mode(3)

func permit() *Caller { return &Caller{TTL: ttl, Owner: "p:1", Mode: permits} }

// What became free here while more was asked for is for those who waited before.
func TestPermitThatBecameFreeGoesToOthers(t *testing.T) {
	b := newBench(t, nil)
	b.other(ledger.Op{Want: 2, Mode: permits})
	first := b.enter(permit())
	for b.sent != nil {
		b.answer()
	}
	if !b.accept(first) {
		t.Fatal("not granted")
	}
	second, third := b.enter(permit()), b.enter(permit())
	for b.sent != nil {
		b.answer()
	}
	b.other(ledger.Op{Node: "another", Want: 1, Mode: permits})
	b.other(ledger.Op{Keep: 1, Mode: permits}) // one comes to us
	b.did(b.c.Message(b.now, ledger.Look, nil))
	b.answer()                       // sees the offer, and takes it
	b.did(b.c.Release(b.now, first)) // while that is under way
	b.answer()
	if !b.accept(second) || b.accept(third) {
		t.Errorf("of two who waited for one permit: %v and %v", second.phase, third.phase)
	}
}

// A permit that was to be given back, and was not yet, is no new one.
func TestPermitThatIsSeenAgainIsNoGrant(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Turns = 3 })
	first, second := b.enter(permit()), b.enter(permit())
	for b.sent != nil {
		b.answer()
	}
	if !b.accept(first) || !b.accept(second) {
		t.Fatal("not granted")
	}
	b.other(ledger.Op{Want: 2, Mode: permits})
	b.did(b.c.Message(b.now, ledger.Waits, nil))
	for b.sent != nil {
		b.answer()
	}
	b.did(b.c.Release(b.now, first)) // is given back, as another waits
	b.other(ledger.Op{Node: "another", Want: 1, Mode: permits})
	late := b.enter(permit())
	b.answer() // too late: another version is there
	if b.accept(late) {
		t.Error("let in before those who wait at other nodes")
	}
}
