package contender

import (
	"slices"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

// A try is not refused for the sake of a node that retains the name and does not use it: those who
// retain are asked, and who waits then is given it.
func TestRecall(t *testing.T) {
	const asks, refused = "asks", "refused at once"
	type uses = map[string]int
	keeps := func(node string, m backend.Mode, retains bool) ledger.Op {
		return ledger.Op{Node: node, Mode: m, Want: 1, Retains: retains}
	}
	for name, tt := range map[string]struct {
		others []ledger.Op
		mode   backend.Mode
		first  string   // what becomes of the try before anybody has answered
		ask    []string // who is asked
		uses   uses
		queues bool // after the answer
	}{
		"not used":                         {[]ledger.Op{keeps("a", 0, true)}, 0, asks, []string{"a"}, uses{"a": 0}, true},
		"used":                             {[]ledger.Op{keeps("a", 0, true)}, 0, asks, []string{"a"}, uses{"a": 1}, false},
		"said nothing":                     {[]ledger.Op{keeps("a", 0, true)}, 0, asks, []string{"a"}, uses{"other": 0}, false},
		"not retained":                     {[]ledger.Op{keeps("a", 0, false)}, 0, refused, nil, nil, false},
		"another waits for it":             {[]ledger.Op{keeps("a", 0, true), keeps("b", 0, true)}, 0, refused, nil, nil, false},
		"shared, neither uses it":          {[]ledger.Op{keeps("a", 1, true), keeps("b", 1, true)}, 0, asks, []string{"a", "b"}, uses{"a": 0, "b": 0}, true},
		"shared, one uses it":              {[]ledger.Op{keeps("a", 1, true), keeps("b", 1, true)}, 0, asks, []string{"a", "b"}, uses{"a": 0, "b": 1}, false},
		"shared, the other uses it":        {[]ledger.Op{keeps("a", 1, true), keeps("b", 1, true)}, 0, asks, []string{"a", "b"}, uses{"a": 1, "b": 0}, false},
		"shared, one does not retain":      {[]ledger.Op{keeps("a", 1, true), keeps("b", 1, false)}, 0, refused, nil, nil, false},
		"permits, one of them is not used": {[]ledger.Op{keeps("a", 2, true), keeps("b", 2, true)}, 2, asks, []string{"a", "b"}, uses{"a": 1, "b": 0}, true},
		"permits, the other is not used":   {[]ledger.Op{keeps("a", 2, true), keeps("b", 2, true)}, 2, asks, []string{"a", "b"}, uses{"a": 0, "b": 1}, true},
		"permits, all are used":            {[]ledger.Op{keeps("a", 2, true), keeps("b", 2, true)}, 2, asks, []string{"a", "b"}, uses{"a": 1, "b": 1}, false},
		"permits, one is retained":         {[]ledger.Op{keeps("a", 2, true), keeps("b", 2, false)}, 2, asks, []string{"a"}, uses{"a": 0}, true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, func(c *Config) { c.Recall = 100 * time.Millisecond })
			for _, op := range tt.others {
				if op.Mode == 1 {
					op.Mode = backend.Shared
				}
				b.other(op)
			}
			b.enter(&Caller{TTL: ttl, Owner: "x:1", Mode: tt.mode, NoWait: true})
			b.settle()
			if ended := len(b.last.Ended) == 1; ended != (tt.first == refused) || !slices.Equal(b.asked, tt.ask) {
				t.Fatalf("ended %+v, asked %q, want it %s and %q", b.last.Ended, b.asked, tt.first, tt.ask)
			}
			if tt.first == refused {
				return
			}
			b.did(b.c.Told(b.now, tt.uses))
			ended := len(b.last.Ended) == 1 && b.last.Ended[0].Reason == Held
			b.settle()
			if queued := b.row.Record.Entry("me") != nil; queued != tt.queues || ended == tt.queues {
				t.Errorf("in the queue %v, want %v; refused %v", queued, tt.queues, ended)
			}
		})
	}
}

// Who is asked has a time to answer in, and the next one is asked about anew.
func TestRecallEnds(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Recall = 100 * time.Millisecond })
	b.other(ledger.Op{Want: 1, Retains: true})
	for range 2 {
		b.asked = nil
		b.enter(&Caller{TTL: ttl, Owner: "x:1", NoWait: true})
		if b.settle(); len(b.asked) != 1 || b.last.Timer != b.now+100*time.Millisecond {
			t.Fatalf("asked %q, the timer is at %v, now is %v", b.asked, b.last.Timer, b.now)
		}
		b.now = b.last.Timer
		if b.did(b.c.Tick(b.now)); len(b.last.Ended) != 1 || b.last.Ended[0].Reason != Held || len(b.last.Ask) > 0 {
			t.Fatalf("it ended with %+v, asked %q", b.last.Ended, b.last.Ask)
		}
	}
}

// An answer that comes when nobody waits for it any more says nothing to the next one.
func TestLateAnswerToARecall(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Recall = 100 * time.Millisecond })
	b.other(ledger.Op{Want: 1, Retains: true})
	b.enter(&Caller{TTL: ttl, Owner: "x:1", NoWait: true})
	b.settle()
	b.now = b.last.Timer
	b.did(b.c.Tick(b.now))
	b.enter(&Caller{TTL: ttl, Owner: "y:1", NoWait: true})
	b.did(b.c.Told(b.now, map[string]int{"other": 1}))
	if b.settle(); len(b.asked) != 2 || len(b.last.Ended) > 0 {
		t.Errorf("asked %q, it ended with %+v", b.asked, b.last.Ended)
	}
}

// Without a time to answer in nobody is asked, nor about a hold that is over, an offer, or its own.
func TestWhoIsNotAsked(t *testing.T) {
	const two, three = backend.Mode(2), backend.Mode(3)
	try := func(m backend.Mode) *Caller { return &Caller{TTL: ttl, Owner: "x:1", Mode: m, NoWait: true} }
	b := newBench(t, nil)
	b.other(ledger.Op{Want: 1, Retains: true})
	b.enter(try(backend.Exclusive))
	if b.settle(); len(b.asked) > 0 || len(b.last.Ended) != 1 {
		t.Errorf("asked %q for no time; it ended with %+v", b.asked, b.last.Ended)
	}

	recall := func(c *Config) { c.Recall, c.Retain = time.Second, time.Second }
	b = newBench(t, recall)
	b.other(ledger.Op{Node: "dead", Mode: backend.Shared, Want: 1})
	b.now += ttl / 2
	b.other(ledger.Op{Node: "living", Mode: backend.Shared, Want: 1, Retains: true})
	b.now += ttl / 2
	b.enter(try(backend.Exclusive))
	if b.settle(); !slices.Equal(b.asked, []string{"living"}) {
		t.Errorf("asked %q, want the one whose time is not up", b.asked)
	}

	b = newBench(t, recall)
	b.other(ledger.Op{Node: "a", Mode: three, Want: 2, Retains: true})
	w := b.enter(&Caller{TTL: ttl, Owner: "y:1", Mode: three})
	b.settle()
	b.accept(w)
	b.enter(try(three))
	if b.settle(); !slices.Equal(b.asked, []string{"a"}) {
		t.Errorf("asked %q, want the other one", b.asked)
	}

	b = newBench(t, recall)
	b.other(ledger.Op{Node: "a", Mode: two, Want: 2, Retains: true})
	b.other(ledger.Op{Node: "b", Mode: two, Want: 1})
	b.other(ledger.Op{Node: "a", Mode: two, Keep: 1, Retains: true})
	b.enter(try(two))
	if b.settle(); !slices.Equal(b.asked, []string{"a"}) {
		t.Errorf("asked %q, want the one who holds", b.asked)
	}
}
