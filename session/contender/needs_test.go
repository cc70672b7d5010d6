package contender

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

// Where due does not compute the next record, that would be the one that is there.
func TestUndisturbed(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	pick := func(of ...int) int { return of[random.IntN(len(of))] }
	node := func() string { return []string{"", "me", "another"}[random.IntN(3)] }
	b := newBench(t, nil)
	w := b.enter(exclusive())
	b.settle()
	if !b.accept(w) {
		t.Fatal("not granted")
	}
	b.enter(exclusive())
	quiet := 0
	for range 200_000 {
		c := b.c.Clone(func(w *Caller) *Caller { return w })
		c.hold.mode = backend.Mode(pick(int(backend.Exclusive), int(backend.Exclusive), int(backend.Shared)))
		c.queue.ws[0].Mode = c.hold.mode
		r := &c.copy
		*r = ledger.Record{Size: pick(0, 0, 2), Top: r.Top}
		for range pick(0, 1, 1, 2) {
			h := ledger.Hold{
				Node: node(), Mode: c.hold.mode, Count: 1, Offered: pick(0, 0, 0, 1) == 1,
				ID: c.hold.id + backend.Fence(pick(0, 0, 0, 1)), Block: c.hold.block, End: c.now + time.Minute,
			}
			for range pick(0, 0, 0, 1) {
				h.Breaks = append(h.Breaks, w.Fence)
			}
			r.Holds = append(r.Holds, h)
		}
		for range pick(0, 0, 0, 1) {
			r.Queue = append(r.Queue, ledger.Entry{Node: node(), Want: 1})
		}
		if !c.undisturbed() {
			continue
		}
		quiet++
		if c.changes(c.needs()) {
			t.Fatalf("of %+v with the hold %+v something is to be written", *r, c.hold)
		}
	}
	if quiet < 1000 {
		t.Errorf("%d of the records are undisturbed", quiet)
	}
}

// A permit that becomes free here is for the next here if that came before all who wait at other
// nodes. It is granted by one write, as one that was free before.
func TestPermitThatBecameFreeIsForTheFirst(t *testing.T) {
	for name, strict := range map[string]bool{"turns": false, "strict": true} {
		t.Run(name, func(t *testing.T) {
			first := permit()
			b := held(t, first, func(c *Config) {
				if c.Strict = strict; strict {
					c.Turns = 1
				}
			})
			second := b.enter(permit())
			if b.settle(); !b.accept(second) {
				t.Fatal("not granted")
			}
			b.other(ledger.Op{Node: "holder", Mode: permits, Want: int(permits) - 2})
			next := b.enter(permit())
			b.settle()
			b.other(ledger.Op{Mode: permits, Want: 1, Strict: strict, Since: b.now.Microseconds()})
			b.did(b.c.Message(b.now, ledger.Waits, nil))
			b.settle()
			b.did(b.c.Release(b.now, first))
			if b.settle(); !b.accept(next) {
				t.Errorf("not let in, the record is %+v", b.row.Record)
			}
		})
	}
}
