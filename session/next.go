package session

import (
	"cmp"
	"slices"
	"time"

	"github.com/lockgw/lockgw/session/engine"
)

// next is who gets the name when its holder lets go of it; nil: nobody waits. Callers of
// a node that holds the name stand in no queue of the store: they come after everybody
// who does.
func (s *Status) next(node string, a *engine.Answer) *Holder {
	for _, e := range a.Reply.Record.Queue {
		if e.Node == node && len(s.Queue) > 0 {
			return &s.Queue[0]
		}
		if e.Node != node {
			return nextAt(e.Node, a)
		}
	}
	if len(s.Queue) > 0 {
		return &s.Queue[0]
	}
	for _, h := range a.Reply.Record.Holds {
		if a.Told[h.Node].Waiters > 0 {
			return nextAt(h.Node, a)
		}
	}
	return nil
}

// ahead is how many callers of other nodes come before those of node, in the order of next.
func (s *Status) ahead(node string, a *engine.Answer) (n int) {
	if len(s.Queue) == 0 {
		return 0
	}
	for _, e := range a.Reply.Record.Queue {
		if e.Node == node {
			break
		}
		if t, ok := a.Told[e.Node]; ok {
			n += t.Waiters
		} else {
			n += max(e.Waiters, 1)
		}
	}
	return n
}

// nextAt is the first who waits at another node. Without Owner, it is not known who.
func nextAt(node string, a *engine.Answer) *Holder {
	if t := a.Told[node]; len(t.Waiting) > 0 {
		h := holderFrom(node, t.Waiting[0])
		return &h
	}
	return &Holder{Peer: NoPeer()}
}

// inLine is one who waits, where the order is strict.
type inLine struct {
	node   string
	who    *Holder       // without Owner, it is not known who
	waited time.Duration // by the clock of its own node, which alone knows
	last   bool          // it is served after the others
}

// firstIn is next and ahead where the order is strict. Then the callers of the node that
// holds the name stand in one order with all others, although not in the queue of the store;
// so they are compared by how long they have waited. Of a node that has many, those after
// the first whom it told, or the first if it told nobody, are not counted in ahead.
func (s *Status) firstIn(node string, a *engine.Answer, now time.Time) (next *Holder, ahead int) {
	all := s.line(node, a, now)
	slices.SortStableFunc(all, func(x, y inLine) int {
		if x.last == y.last {
			return cmp.Compare(y.waited, x.waited)
		}
		if x.last {
			return 1
		}
		return -1
	})
	if len(all) == 0 {
		return nil, 0
	}
	return all[0].who, max(slices.IndexFunc(all, func(w inLine) bool { return w.node == node }), 0)
}

// line is who waits, as far as it is known, in no order.
func (s *Status) line(node string, a *engine.Answer, now time.Time) (all []inLine) {
	r := &a.Reply.Record
	last := func(node string) bool {
		e := r.Entry(node)
		return e != nil && e.Suspect
	}
	for i := range s.Queue {
		all = append(all, inLine{node, &s.Queue[i], now.Sub(s.Queue[i].Since), last(node)})
	}
	for other, t := range a.Told {
		for _, c := range t.Waiting {
			h := holderFrom(other, c)
			all = append(all, inLine{other, &h, t.At(now).Sub(h.Since), last(other)})
		}
		if t.Waiters > 0 && len(t.Waiting) == 0 && r.Entry(other) == nil {
			all = append(all, inLine{node: other, who: &Holder{Peer: NoPeer()}, last: true})
		}
	}
	for _, e := range r.Queue {
		t, told := a.Told[e.Node]
		if e.Node == node || told && (t.Waiters == 0 || len(t.Waiting) > 0) {
			continue
		}
		waited := time.Duration(a.Reply.Clock-e.Since) * time.Microsecond
		all = append(all, inLine{e.Node, &Holder{Peer: NoPeer()}, waited, e.Suspect})
	}
	return all
}
