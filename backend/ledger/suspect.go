package ledger

import "slices"

// mostSuspects is how many nodes that have let an offer run out may stand in a queue.
const mostSuspects = 16

// suspect notes that the node of e has let an offer run out. One of which nobody hears again,
// and the first ones of very many, are taken for dead, and queue anew if they are not: else the
// record of a name that is always in use would keep all nodes that ever died waiting.
func (s *stepping) suspect(e *Entry, unheard bool) {
	if e.Suspect && unheard {
		s.dequeue(e.Node)
		return
	}
	e.Suspect = true
	for i, n := len(s.Queue)-1, 0; i >= 0; i-- {
		if !s.Queue[i].Suspect {
			continue
		}
		if n++; n > mostSuspects {
			s.Queue = slices.Delete(s.Queue, i, i+1)
		}
	}
}
