package ledger

import (
	"slices"

	"github.com/lockgw/lockgw/backend"
)

// Where the order is strict, a node that shares the name or has permits goes on waiting for
// the next of its callers in the write in which it is served. Else one of another node who came
// later could come in before the node has written again.

// enqueue puts e at the end, or, where the order is strict, behind all who came before.
func (s *stepping) enqueue(e Entry) {
	i := len(s.Queue)
	for s.op.Strict && i > 0 && s.Queue[i-1].Since > e.Since {
		i--
	}
	s.Queue = slices.Insert(s.Queue, i, e)
}

// standThen puts the node that asks into the queue for its next caller, if it stands there
// for none. It is served by the next write, with which its node asks for it.
func (s *stepping) standThen() {
	if h := s.Firm(s.op.Node); h != nil && s.Entry(s.op.Node) == nil {
		s.then = s.op.Then > 0
		s.standFor(Entry{Node: s.op.Node, Mode: h.Mode, Then: s.op.Then})
	}
}

// standFor puts the node of e, which has what e asked for, into the queue for the caller
// that comes then.
func (s *stepping) standFor(e Entry) {
	if e.Then == 0 {
		return
	}
	e.Since, e.Then, e.Want = e.Then, 0, 1
	if e.Mode.Limit() == 0 {
		e.Mode = backend.Exclusive // those who share come in together
	}
	s.enqueue(e)
}

// passes: if it were served, the node at place i would pass a caller of another that came
// before and for whom that one does not stand in the queue yet.
func (s *stepping) passes(i int) bool {
	return slices.ContainsFunc(s.Queue[:i], func(e Entry) bool {
		return !e.Suspect && e.Then > 0 && e.Then < s.Queue[i].Since
	})
}
