package ledger

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
)

// A scenario is a row on which nodes work with copies that are always fresh. Lines say
// what happens; show says how the record stands: the holds (node, ? if only offered,
// count if it is not 1), then the queue (node, ! if suspect).
type scenario struct {
	t    *testing.T
	row  Row
	now  time.Duration
	said string
}

func (s *scenario) op(op Op) *scenario {
	s.t.Helper()
	op.Lapse = true
	op.Turns, op.TTL, op.OfferTTL = max(op.Turns, 1), max(op.TTL, 30*time.Second), time.Second
	if op.Hold == 0 && op.Verb != Break && op.Keep >= 0 {
		if h := s.row.Record.Firm(op.Node); h != nil {
			op.Hold = h.ID
		}
	}
	next, e := Step(s.row.Record, op, s.now)
	s.said = said(e.Messages)
	if next.Same(&s.row.Record) {
		return s
	}
	if !s.row.Swap(Swap{Base: s.row.Version, Record: next, Effects: e}, s.row.Version+"x", s.now, 0) {
		s.t.Fatalf("the store refuses %+v", op)
	}
	return s
}

func (s *scenario) want(node string, m backend.Mode, n int) *scenario {
	s.t.Helper()
	return s.op(Op{Node: node, Mode: m, Want: n})
}

func (s *scenario) leaves(node string) *scenario {
	s.t.Helper()
	return s.op(Op{Verb: Leave, Node: node})
}

func (s *scenario) after(d time.Duration) *scenario { s.now += d; return s }

func (s *scenario) is(want string) *scenario {
	s.t.Helper()
	if got := show(&s.row.Record); got != want {
		s.t.Fatalf("the record is %q, want %q", got, want)
	}
	return s
}

func (s *scenario) says(want string) *scenario {
	s.t.Helper()
	if s.said != want {
		s.t.Fatalf("messages are %s, want %s", s.said, want)
	}
	return s
}

// said is who is told what: node and kind.
func said(ms []Message) string {
	var all []string
	for _, m := range ms {
		all = append(all, fmt.Sprint(m.Node, " ", int(m.Kind)))
	}
	return "[" + strings.Join(all, ", ") + "]"
}

func show(r *Record) string {
	var b strings.Builder
	for _, h := range r.Holds {
		b.WriteString(h.Node)
		if h.Offered {
			b.WriteByte('?')
		}
		if h.Count > 1 {
			fmt.Fprint(&b, h.Count)
		}
		b.WriteByte(' ')
	}
	b.WriteByte('|')
	for _, e := range r.Queue {
		b.WriteString(" " + e.Node)
		if e.Suspect {
			b.WriteByte('!')
		}
		if e.Want > 1 {
			fmt.Fprint(&b, e.Want)
		}
	}
	return b.String()
}

const (
	x = backend.Exclusive
	s = backend.Shared
	p = backend.Mode(3) // a semaphore of three
)

func TestStep(t *testing.T) {
	for name, run := range map[string]func(r *scenario){
		"one after the other": func(r *scenario) {
			r.want("a", x, 1).is("a |").want("b", x, 1).is("a | b").says("[a 2]").want("c", x, 1).is("a | b c")
			r.leaves("a").is("b? | b c").says("[b 1, c 1]").want("b", x, 1).is("b | c")
		},
		"an offer that is not wanted goes on": func(r *scenario) {
			r.want("a", x, 1).want("b", x, 1).want("c", x, 1).leaves("a").leaves("b").is("c? | c")
		},
		"who lets an offer run out is served last": func(r *scenario) {
			r.want("a", x, 1).want("b", x, 1).want("c", x, 1).leaves("a").is("b? | b c")
			r.after(time.Second).op(Op{Verb: Pass, Node: "a"}).is("c? | b! c")
			r.want("c", x, 1).is("c | b!").leaves("c").is("b? | b!").want("b", x, 1).is("b |")
		},
		"an offer that ran out is not passed to one that ran out before": func(r *scenario) {
			r.want("a", x, 1).want("b", x, 1).leaves("a").after(time.Second).op(Op{Verb: Pass, Node: "a"}).is("| b!")
		},
		"an offer that nobody heard of is over at once": func(r *scenario) {
			r.want("a", x, 1).want("b", x, 1).want("c", x, 1).leaves("a")
			r.op(Op{Verb: Pass, Node: "a", Unheard: []backend.Fence{r.row.Record.Offer("b").ID}}).is("c? | b! c")
		},
		"a dead holder is over by time alone": func(r *scenario) {
			r.want("a", x, 1).want("b", x, 1).after(29*time.Second).want("b", x, 1).is("a | b")
			r.after(time.Second).want("b", x, 1).is("b |")
		},
		"what a dead holder had is kept from all for the delay": func(r *scenario) {
			b := Op{Node: "b", Mode: x, Want: 1, Delay: 5 * time.Second}
			r.want("a", x, 1).op(b).after(31 * time.Second).op(b).is(" | b")
			if end := r.row.Record.Holds[0].End - r.now; end != 4*time.Second {
				r.t.Errorf("it is kept for %v, want what is left of the delay", end)
			}
			r.after(4 * time.Second).op(b).is("b |")
		},
		"but not if the delay is over": func(r *scenario) {
			b := Op{Node: "b", Mode: x, Want: 1, Delay: 5 * time.Second}
			r.want("a", x, 1).op(b).after(35 * time.Second).op(b).is("b |")
		},
		"nor what was shared, or offered": func(r *scenario) {
			b := Op{Node: "b", Mode: x, Want: 1, Delay: 5 * time.Second}
			r.want("a", s, 1).op(b).after(30 * time.Second).op(b).is("b |")
			r.op(Op{Node: "c", Mode: x, Want: 1}).leaves("b").is("c? | c").after(time.Second).op(b).is("b | c!")
		},
		"all who wait hear of that": func(r *scenario) {
			r.want("a", x, 1).want("b", x, 1).want("c", x, 1).op(Op{Verb: Leave, Node: "a", Bar: time.Second}).is(" | b c").says("[b 1, c 1]")
		},
		"what others have is not kept from anybody": func(r *scenario) {
			r.want("a", s, 1).want("b", s, 1).op(Op{Verb: Leave, Node: "a", Mode: s, Bar: time.Second}).is("b |")
		},
		"an extension is not given while others wait": func(r *scenario) {
			r.want("a", x, 1)
			block := r.row.Record.Firm("a").Block
			r.op(Op{Node: "a", Keep: 1, Extend: true}).is("a |")
			if r.row.Record.Firm("a").Block == block {
				r.t.Error("nobody waits, and there is no new block")
			}
			block = r.row.Record.Firm("a").Block
			r.want("b", x, 1).op(Op{Node: "a", Keep: 1, Extend: true}).is("a | b")
			if r.row.Record.Firm("a").Block != block {
				r.t.Error("a new block, although b waits")
			}
		},
		"who yields stands at the end": func(r *scenario) {
			r.want("a", x, 1).want("b", x, 1).want("c", x, 1).op(Op{Node: "a", Mode: x, Want: 1}).is("b? | b c a")
		},
		"who does not want to wait does not": func(r *scenario) {
			r.want("a", x, 1).op(Op{Node: "b", Mode: x, Want: 1, Try: true}).is("a |").says("[]")
			r.leaves("a").op(Op{Node: "b", Mode: x, Want: 1, Try: true}).is("b |")
		},
		"readers together, and nobody passes a writer": func(r *scenario) {
			r.want("a", s, 1).want("b", s, 1).is("a b |").want("c", x, 1).want("d", s, 1).is("a b | c d")
			r.leaves("a").leaves("b").is("c? | c d").want("c", x, 1).leaves("c").is("d? | d")
		},
		"a reader becomes no writer in place": func(r *scenario) {
			r.want("a", s, 1).want("b", s, 1).op(Op{Node: "a", Mode: x, Want: 1, Keep: 1}).is("a b | a")
			r.op(Op{Node: "a", Mode: x, Want: 1}).is("b | a").leaves("b").is("a? | a")
		},
		"permits, as many as there are": func(r *scenario) {
			r.want("a", p, 2).is("a2 |").want("b", p, 2).is("a2 b | b").want("c", p, 1).is("a2 b | b c")
			r.op(Op{Node: "a", Mode: p, Keep: 1}).is("a b b? | b c").op(Op{Node: "b", Mode: p, Keep: 1, Want: 1}).is("a b2 | c")
		},
		"more permits are wanted from the end of the queue": func(r *scenario) {
			r.want("a", p, 3).want("b", p, 1).want("c", p, 1).want("b", p, 3).is("a3 | b c")
		},
		"a part of the permits does not cost the place": func(r *scenario) {
			r.want("a", p, 1).op(Op{Node: "d", Mode: p, Want: 2, TTL: time.Hour}).want("b", p, 2).want("c", p, 1).is("a d2 | b2 c")
			r.after(30*time.Second).want("b", p, 2).is("d2 b | b c")
		},
		"who does not want to wait any more leaves the queue": func(r *scenario) {
			r.want("a", x, 1).want("b", x, 1).want("c", x, 1).leaves("b").is("a | c")
		},
		"a lock is no semaphore": func(r *scenario) {
			r.want("a", x, 1).want("b", p, 1).is("a |")
			if !r.row.Record.Conflicts("b", p) {
				r.t.Error("no conflict is seen")
			}
			r.leaves("a").want("b", p, 1).is("b |").want("a", 2, 1).is("b |")
		},
		"kept from everybody for a while": func(r *scenario) {
			r.want("a", x, 1).want("b", x, 1).op(Op{Verb: Leave, Node: "a", Bar: 5 * time.Second}).is(" | b").says("[b 1]")
			r.after(4*time.Second).want("b", x, 1).is(" | b").after(time.Second).want("b", x, 1).is("b |")
		},
		"broken": func(r *scenario) {
			r.want("a", x, 1).want("b", x, 1).op(Op{Verb: Break, Node: "c", Hold: 77}).is("a | b")
			r.op(Op{Verb: Break, Node: "c", Hold: r.row.Record.Firm("a").ID}).is("b? | b").says("[a 3, b 1]")
		},
		"broken outside lockgw": func(r *scenario) {
			r.want("a", x, 1).op(Op{Verb: Break, Node: "c", Foreign: true}).is("a |").leaves("a")
			r.row.Record.Holds = []Hold{{Count: 1, End: time.Hour}} // as a store tells of it
			r.want("b", x, 1).is(" | b")
			for foreign, want := range map[bool]string{false: " | b", true: "b? | b"} {
				next, e := Step(r.row.Record, Op{Verb: Break, Node: "c", Foreign: foreign, OfferTTL: time.Second}, 0)
				if got := show(&next); got != want || e.Evicts != foreign || len(e.Ended) != 0 {
					r.t.Errorf("foreign %v: the record is %q, want %q; %+v", foreign, got, want, e)
				}
			}
			next, e := Step(r.row.Record, Op{Verb: Break, Node: "c", Foreign: true, Bar: time.Second}, 0)
			if got := show(&next); got != " | b" || !e.Evicts || next.Holds[0].Foreign() || next.Holds[0].End != time.Second {
				r.t.Errorf("kept from everybody after that: %+v, %+v", next, e)
			}
		},
		"reclaimed with what is still used": func(r *scenario) {
			r.want("a", p, 3)
			id := r.row.Record.Firm("a").ID
			r.op(Op{Verb: Reclaim, Node: "a", Hold: id, Keep: 1, Mode: p}).is("a |")
			r.op(Op{Verb: Reclaim, Node: "a", Hold: id + 1, Keep: 1, Mode: p}).is("|")
		},
		"a hold that was forgotten is written down again": func(r *scenario) {
			r.op(Op{Verb: Reclaim, Node: "a", Hold: 40, Keep: 1, Restore: true, Floor: 50}).is("a |")
			if h := r.row.Record.Firm("a"); h.ID != 40 || r.row.Record.Top < 50 {
				r.t.Errorf("it is %+v, the newest fence %d", h, r.row.Record.Top)
			}
		},
		"not if somebody may have been granted it since": func(r *scenario) {
			r.want("b", x, 1).leaves("b").op(Op{Verb: Reclaim, Node: "a", Hold: 1, Keep: 1, Restore: true}).is("|")
		},
		"strict order is that of arrival": func(r *scenario) {
			r.want("a", x, 1)
			r.op(Op{Node: "b", Mode: x, Want: 1, Strict: true, Since: 20}).op(Op{Node: "c", Mode: x, Want: 1, Strict: true, Since: 10}).is("a | c b")
			r.op(Op{Node: "c", Mode: x, Want: 1, Strict: true, Since: 30}).is("a | b c") // its first caller has gone
		},
	} {
		t.Run(name, func(t *testing.T) { run(&scenario{t: t}) })
	}
}

func TestFencesGrow(t *testing.T) {
	r := &scenario{t: t}
	r.op(Op{Node: "a", Mode: x, Want: 1, Turns: 64, Floor: 1000})
	if h := r.row.Record.Firm("a"); h.ID != 1001 || r.row.Record.Top != 1064 {
		t.Errorf("a new record begins with %d to %d, want 1001 to 1064", h.ID, r.row.Record.Top)
	}
	r.leaves("a").op(Op{Node: "b", Mode: x, Want: 1, Floor: 500})
	if h := r.row.Record.Firm("b"); h.ID != 1065 {
		t.Errorf("the next hold has fence %d, want 1065", h.ID)
	}
}

// When something was told stands beside it, and is no reason to write.
func TestAt(t *testing.T) {
	r := &scenario{t: t}
	r.op(Op{Node: "a", Mode: s, Want: 1, At: 7}).op(Op{Node: "b", Want: 1, At: 8, Waiters: 2}).is("a | b")
	h, e := r.row.Record.Firm("a"), r.row.Record.Entry("b")
	if h.At != 7 || e.At != 8 {
		t.Fatalf("at %d and %d", h.At, e.At)
	}
	next, _ := Step(r.row.Record, Op{Node: "b", Want: 1, Turns: 1, At: 9, Waiters: 3}, 0)
	if got := next.Entry("b"); got.At != 9 || got.Waiters != 3 || !next.Same(&r.row.Record) {
		t.Errorf("b tells %+v of %+v", got, next)
	}
	if h.At = 10; !next.Same(&r.row.Record) {
		t.Error("a later time makes another record")
	}
}

// What was offered to a node is taken, and what nobody offered is granted anew.
func TestTaken(t *testing.T) {
	s := (&scenario{t: t}).want("a", backend.Exclusive, 1).want("b", backend.Exclusive, 1)
	take := func(op Op) Effects {
		op.Turns, op.TTL, op.OfferTTL = 1, time.Second, time.Second
		_, e := Step(s.row.Record, op, s.now)
		return e
	}
	if e := take(Op{Node: "c", Want: 1}); e.Grants || e.Taken {
		t.Errorf("who queues: grants %v, taken %v, want neither", e.Grants, e.Taken)
	}
	s.leaves("a")
	if e := take(Op{Node: "b", Want: 1}); !e.Grants || !e.Taken {
		t.Errorf("whose turn it is: grants %v, taken %v, want both", e.Grants, e.Taken)
	}
	s = (&scenario{t: t}).want("a", backend.Exclusive, 1)
	if e := take(Op{Node: "a", Want: 1}); !e.Grants || !e.Taken {
		t.Errorf("who does not know that it holds the name: grants %v, taken %v, want both", e.Grants, e.Taken)
	}
	s = &scenario{t: t}
	if e := take(Op{Node: "c", Want: 1}); !e.Grants || e.Taken {
		t.Errorf("a free name: grants %v, taken %v, want a grant alone", e.Grants, e.Taken)
	}
	five := backend.Mode(5)
	s.want("a", five, 5).want("b", five, 2)
	s.op(Op{Node: "a", Mode: five, Keep: 3})
	s.leaves("a")
	if e := take(Op{Node: "b", Mode: five, Want: 4}); !e.Grants || e.Taken {
		t.Errorf("more permits than were offered: grants %v, taken %v, want a grant alone", e.Grants, e.Taken)
	}
}

// Whatever a node writes shows that it is alive.
func TestSuspectThatWrites(t *testing.T) {
	r := (&scenario{t: t}).want("a", x, 1).want("b", x, 1).want("c", x, 1).leaves("a")
	r.now += 2 * time.Second
	r.op(Op{Verb: Pass, Node: "c"})
	if e := r.row.Record.Entry("b"); e == nil || !e.Suspect {
		t.Fatalf("b has let its offer run out: %+v", r.row.Record)
	}
	if r.want("b", x, 1); r.row.Record.Entry("b").Suspect {
		t.Errorf("b has written: %+v", r.row.Record)
	}
}

// Of a hold that its node has not ended itself, or knows nothing of, it is not known which of its
// fences were given: none of before is the newest then.
func TestLastOfAHoldThatEndedOtherwise(t *testing.T) {
	held := func() (*scenario, backend.Fence) {
		s := &scenario{t: t}
		s.op(Op{Node: "a", Want: 1, Turns: 5}).op(Op{Node: "c", Want: 1})
		s.op(Op{Verb: Leave, Node: "a", Last: s.row.Record.Holds[0].ID}).op(Op{Node: "c", Want: 1, Turns: 5})
		return s, s.row.Record.Firm("c").ID
	}
	for how, end := range map[string]func(s *scenario, id backend.Fence){
		"run out":   func(s *scenario, _ backend.Fence) { s.after(time.Hour).op(Op{Node: "b", Want: 1, Turns: 5}) },
		"broken":    func(s *scenario, id backend.Fence) { s.op(Op{Verb: Break, Node: "b", Hold: id}) },
		"forgotten": func(s *scenario, _ backend.Fence) { s.op(Op{Verb: Reclaim, Node: "c", Hold: 1}) },
	} {
		s, id := held()
		last, top := s.row.Record.Last, s.row.Record.Top
		if end(s, id); last == 0 || last >= id || s.row.Record.Last != top {
			t.Errorf("%s: last is %d, want %d, the newest that may have been given", how, s.row.Record.Last, top)
		}
	}
	s, id := held()
	s.op(Op{Verb: Leave, Node: "c", Last: id + 1, Bar: time.Second})
	if s.after(time.Hour).op(Op{Node: "b", Want: 1, Turns: 5}); s.row.Record.Last != id+1 { // what kept the name from all had no fences
		t.Errorf("last is %d, want %d, which its node has written", s.row.Record.Last, id+1)
	}
}
