package contender

import (
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

// Leases that began at different times are renewed together, and none of them late.
func TestRenewedTogether(t *testing.T) {
	at := map[time.Duration]bool{}
	for i := range 10_000 {
		sent := time.Duration(i)*time.Millisecond + 12345
		due := renewAt(sent, ttl)
		if late := due - (sent + ttl/3); late > 0 || late <= -ttl/60 {
			t.Fatalf("sent at %v, renewed at %v, %v from a third of the lease", sent, due, late)
		}
		at[due] = true
	}
	if len(at) > 22 {
		t.Errorf("10,000 leases that began within 10 s are renewed at %d times", len(at))
	}
	if renewAt(0, time.Nanosecond) != 0 {
		t.Error("the shortest lease is not renewed at once")
	}
}

// A program outside lockgw may make its lease shorter, and tells nobody.
func TestWaiterLooksAtAForeignHoldOnceALease(t *testing.T) {
	b := newBench(t, nil)
	b.row.Version = "somebody was here"
	b.row.Record.Holds = []ledger.Hold{{Mode: backend.Exclusive, Count: 1, End: b.now + time.Hour}}
	w := b.enter(exclusive())
	for b.sent != nil {
		b.answer()
	}
	for range 3 {
		if b.last.Timer != b.now+ttl {
			t.Fatalf("it looks again after %v, want after %v", b.last.Timer-b.now, ttl)
		}
		b.now = b.last.Timer
		b.did(b.c.Tick(b.now))
		if b.sent == nil || b.sent.Swap != nil || b.sent.Join != nil {
			t.Fatalf("sent %+v, want a look", b.sent)
		}
		b.answer()
	}
	b.row.Record.Holds[0].End = b.now + time.Second
	b.now = b.last.Timer
	b.did(b.c.Tick(b.now))
	if !b.wait(w) {
		t.Errorf("not granted when the shorter lease is over: %+v", b.row.Record)
	}
}

// A write that gives the name to another node and would make the lease shorter has changed nothing
// if another one came before it: who waits here, where nobody else does any more, comes in at once.
func TestLostRaceMakesNoLeaseShorter(t *testing.T) {
	for name, answer := range map[string]func(b *bench){
		"another write came before": func(b *bench) { b.other(ledger.Op{Verb: ledger.Leave}); b.answer() },
		"it is refused": func(b *bench) {
			b.did(b.c.Reply(b.now, ledger.Reply{}, backend.ErrRefused))
			b.other(ledger.Op{Verb: ledger.Leave})
			b.now += time.Second
			b.did(b.c.Tick(b.now))
			b.answer()
		},
	} {
		first, next := exclusive(), exclusive()
		next.TTL = ttl / 5
		b := held(t, first, nil)
		b.other(ledger.Op{Want: 1})
		r := b.row.Reply(b.now)
		b.did(b.c.Message(b.now, ledger.Waits, &r))
		b.now += time.Second
		b.enter(next)
		b.did(b.c.Release(b.now, first))
		answer(b)
		if b.settle(); !b.accept(next) {
			t.Errorf("%s: the next one waits, until %v", name, b.last.Timer-b.now)
		}
	}
}

// One who does not want to wait is let in to those who share a name although the lease of
// their hold, which nobody renews, is about to end: it is renewed for that one.
func TestTryRenewsALeaseThatEnds(t *testing.T) {
	first, next := shared(), shared()
	first.Fixed, next.NoWait = true, true
	b := held(t, first, nil)
	b.now += ttl * 3 / 4
	b.enter(next)
	q := b.last.Renew
	if b.settle(); q == nil {
		t.Fatalf("no renewal is sent; it waits: %v", next.Waits())
	}
	if b.did(b.c.Renewed(b.now, *q, b.now, nil)); !b.accept(next) {
		t.Error("not let in")
	}
}

// A renewal beside a write that would make the lease short counts for as little. If the write was
// not written, who waits for the renewal need not wait for the next one.
func TestRenewalBesideALostRace(t *testing.T) {
	for _, first := range []string{"write", "renewal"} {
		holder, next := shared(), shared()
		holder.TTL, holder.Fixed, next.TTL = 2*ttl, true, ttl/10
		b := newBench(t, nil)
		b.other(ledger.Op{Want: 1, Mode: backend.Shared})
		b.enter(holder)
		if b.settle(); !b.accept(holder) {
			t.Fatal("not granted")
		}
		b.other(ledger.Op{Verb: ledger.Leave})
		b.now += 2 * ttl * 9 / 10
		q := b.enter(next)
		renewal := b.last.Renew
		if b.sent == nil || b.sent.Swap == nil || renewal == nil {
			t.Fatalf("%s: sent %v, %v", first, b.sent, renewal)
		}
		if first == "write" {
			b.answer()
		}
		b.did(b.c.Renewed(b.now, *renewal, b.now, nil))
		for again := b.last.Renew; b.sent != nil || again != nil; again = b.last.Renew {
			if b.sent != nil {
				b.answer()
			} else {
				b.did(b.c.Renewed(b.now, *again, b.now, nil))
			}
		}
		if !b.accept(q) {
			t.Errorf("the answer to the %s first: the next one waits, until %v", first, b.last.Timer-b.now)
		}
	}
}

// But a renewal without an answer is not asked for again at once.
func TestFailedRenewalForOneWhoWaits(t *testing.T) {
	holder, next := shared(), shared()
	holder.Fixed = true
	b := held(t, holder, nil)
	b.now += ttl * 9 / 10
	b.enter(next)
	renewal := b.last.Renew
	b.settle()
	if b.did(b.c.Renewed(b.now, *renewal, b.now, backend.ErrUnavailable)); b.last.Renew != nil || b.last.Timer != b.now+100*time.Millisecond {
		t.Errorf("asks for %v now, and again in %v", b.last.Renew, b.last.Timer-b.now)
	}
}
