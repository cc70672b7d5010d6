package contender

import (
	"testing"

	"github.com/lockgw/lockgw/backend/ledger"
)

// A store may go back to a record that it had before: another server has taken over, which
// had not heard of the last writes.

// older is a bench whose store has gone back to row.
func (b *bench) older(row ledger.Row) {
	b.row = row
	b.did(b.c.Resync(b.now))
}

// What the node gave back, and is its own again by the older record, is a grant like any
// other: the store may have forgotten who has got it since, and refuses grants for a while.
func TestHoldThatCameBackIsGrantedAnew(t *testing.T) {
	b := newBench(t, nil)
	w := b.enter(exclusive())
	b.answer().accept(w)
	held := b.row
	b.did(b.c.Release(b.now, w))
	b.settle()
	b.older(held)
	b.enter(exclusive())
	b.answer() // sees that it has the name
	if q := b.sent; q == nil || q.Swap == nil || !q.Swap.Effects.Grants {
		t.Fatalf("it takes the name by %+v", q)
	}
}
