package contender

import (
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

// A node that could not leave the queue, because the store has refused that, has something to
// do still: if it were forgotten, its place would stay.
func TestNotQuietBeforeItHasLeft(t *testing.T) {
	b := newBench(t, nil)
	b.other(ledger.Op{Want: 1})
	w := b.enter(exclusive())
	b.settle()
	b.did(b.c.Release(b.now, w)) // gives up
	b.sent = nil
	b.did(b.c.Reply(b.now, ledger.Reply{}, backend.ErrRefused))
	if b.row.Record.Entry("me") == nil {
		t.Fatal("not in the queue")
	}
	if b.c.Quiet() {
		t.Error("quiet with a place in the queue")
	}
	b.now += time.Second
	b.did(b.c.Tick(b.now))
	b.settle()
	if b.row.Record.Has("me") || !b.c.Quiet() {
		t.Errorf("quiet %v, the record is %+v", b.c.Quiet(), b.row.Record)
	}
}
