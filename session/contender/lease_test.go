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
