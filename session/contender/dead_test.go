package contender

import (
	"fmt"
	"testing"

	"github.com/lockgw/lockgw/backend/ledger"
)

// A node that dies while it waits does not stand in the record for as long as the name is in
// use: else that would grow with each.
func TestDeadNodesLeaveTheQueue(t *testing.T) {
	b := newBench(t, nil)
	pair := func(dead string) {
		t.Helper()
		w := b.enter(exclusive())
		if !b.wait(w) {
			t.Fatalf("not granted: %+v", b.row.Record)
		}
		if dead != "" {
			b.other(ledger.Op{Node: dead, Want: 1})
			b.did(b.c.Message(b.now, ledger.Waits, nil))
		}
		b.did(b.c.Release(b.now, w))
		for b.sent != nil { // nobody hears of an offer
			r := b.carryOut()
			for _, h := range r.Record.Holds {
				if h.Offered {
					r.Unheard = append(r.Unheard, h.Node)
				}
			}
			b.did(b.c.Reply(b.now, r, nil))
		}
	}
	for i := range 50 {
		pair(fmt.Sprint("dead", i))
	}
	if n := len(b.row.Record.Queue); n > 16 {
		t.Errorf("%d dead nodes stand in the queue while others die, want 16 at most", n)
	}
	for range 20 {
		pair("")
	}
	if n := len(b.row.Record.Queue); n > 0 {
		t.Errorf("%d dead nodes stand in the queue when nobody else waits", n)
	}
}
