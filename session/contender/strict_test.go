package contender

import (
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

// Where the order is strict, who comes to a node that has not heard the store's clock yet
// stands behind those who came before, and before those who came after.
func TestStrictOrderOfTheFirstCallers(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Strict, c.Turns = true, 1 })
	const clock = 1_795_193_753_498_620 // at the time that the bench begins
	begin := b.now
	second := int64(time.Second / time.Microsecond)
	b.other(ledger.Op{Want: 1})
	b.other(ledger.Op{Node: "before", Want: 1, Strict: true, Since: clock - second})
	b.other(ledger.Op{Node: "after", Want: 1, Strict: true, Since: clock + second})
	b.enter(exclusive())
	b.now += 2 * time.Second // the answer takes its time
	for range 20 {
		if b.sent == nil {
			break
		}
		r := b.carryOut()
		r.Clock = clock + (b.now - begin).Microseconds()
		b.did(b.c.Reply(b.now, r, nil))
	}
	var order []string
	for _, e := range b.row.Record.Queue {
		order = append(order, e.Node)
	}
	if len(order) != 3 || order[0] != "before" || order[1] != "me" || order[2] != "after" || b.row.Record.Queue[1].Since != clock {
		t.Errorf("the queue is %+v", b.row.Record.Queue)
	}
}

// Nor does one that has heard the clock come behind those who came after it, of whom it did not
// know.
func TestStrictOrderOfThoseWhoAreNotKnown(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Strict, c.Turns = true, 1 })
	answer := func() {
		r := b.carryOut()
		r.Clock = b.now.Microseconds()
		b.did(b.c.Reply(b.now, r, nil))
	}
	b.other(ledger.Op{Want: 1})
	b.did(b.c.Message(b.now, ledger.Look, nil))
	answer()
	b.enter(exclusive())
	b.other(ledger.Op{Node: "after", Want: 1, Strict: true, Since: b.now.Microseconds() + 1})
	for b.sent != nil {
		answer()
	}
	if q := b.row.Record.Queue; len(q) != 2 || q[0].Node != "me" {
		t.Errorf("the queue is %+v", q)
	}
}

// While its first caller is served, nobody who came later elsewhere passes the next one, whom
// that one shuts out.
func TestStrictOrderOfTheSecondCaller(t *testing.T) {
	for name, tt := range map[string]struct {
		first, second *Caller
		holder, later ledger.Op
	}{
		"a writer behind a reader": {shared(), exclusive(), ledger.Op{Want: 1}, ledger.Op{Want: 1, Mode: backend.Shared}},
		"the next of a semaphore":  {permit(), permit(), ledger.Op{Want: 3, Mode: permits}, ledger.Op{Want: 1, Mode: permits}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, func(c *Config) { c.Strict, c.Turns = true, 1 })
			settle := func() {
				for b.sent != nil {
					r := b.carryOut()
					r.Clock = b.now.Microseconds()
					b.did(b.c.Reply(b.now, r, nil))
				}
			}
			tt.holder.Node = "holder"
			b.other(tt.holder)
			b.did(b.c.Message(b.now, ledger.Look, nil))
			settle() // it knows the clock
			b.enter(tt.first)
			b.now += time.Second
			b.enter(tt.second)
			settle()
			tt.later.Strict, tt.later.Since = true, b.now.Microseconds()+1
			b.other(ledger.Op{Node: "holder", Verb: ledger.Leave})
			for range 2 { // before the first one is in, and when it is
				if b.other(tt.later); b.row.Record.Firm("other") != nil || b.row.Record.Offer("other") != nil {
					t.Errorf("the record is %+v", b.row.Record)
				}
				b.did(b.c.Message(b.now, ledger.Look, nil))
				r := b.carryOut()
				r.Clock = b.now.Microseconds()
				b.did(b.c.Reply(b.now, r, nil))
			}
		})
	}
}

// Who waits here keeps the place, although the lease that the node had is over: by the order of
// their coming, or by the turns of the nodes.
func TestPlaceOutlastsTheLease(t *testing.T) {
	for name, tt := range map[string]struct {
		set   func(*Config)
		first *Caller
	}{
		"strict":   {func(c *Config) { c.Strict, c.Turns = true, 1 }, exclusive()},
		"in turns": {nil, shared()},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, tt.set)
			tt.first.Fixed = true
			b.enter(tt.first)
			b.settle()
			b.accept(tt.first)
			next := b.enter(exclusive())
			b.settle()
			b.now += ttl / 2
			b.other(ledger.Op{Want: 1, Strict: name == "strict", Since: b.now.Microseconds()})
			b.did(b.c.Message(b.now, ledger.Waits, nil))
			b.settle()
			b.now = tt.first.Until
			b.did(b.c.Tick(b.now))
			b.settle()
			if !b.accept(next) || b.row.Record.Firm("other") != nil || b.row.Record.Offer("other") != nil {
				t.Errorf("another came first: %+v", b.row.Record)
			}
		})
	}
}

// Who shares the name comes in together with one who came before at another node, and need not see
// that this one has taken what it was offered; but not before one who wants it alone and came
// before, for whom that node will ask then.
func TestStrictOrderOfThoseWhoShare(t *testing.T) {
	for name, alone := range map[string]bool{"the other one shares it": false, "and another one there wants it alone": true} {
		first, next := exclusive(), shared()
		b := newBench(t, func(c *Config) { c.Strict, c.Turns = true, 1 })
		settle := func() {
			for b.sent != nil {
				r := b.carryOut()
				r.Clock = b.now.Microseconds()
				b.did(b.c.Reply(b.now, r, nil))
			}
		}
		b.enter(first)
		if settle(); !b.accept(first) {
			t.Fatal("not granted")
		}
		op := ledger.Op{Want: 1, Mode: backend.Shared, Strict: true, Since: b.now.Microseconds()}
		b.now += time.Second
		if alone {
			op.Then = b.now.Microseconds()
		}
		b.other(op)
		b.now += time.Second
		b.enter(next)
		b.did(b.c.Release(b.now, first))
		settle()
		if got := b.accept(next); got == alone {
			t.Errorf("%s: let in: %v, the record is %+v", name, got, b.row.Record)
		}
	}
}
