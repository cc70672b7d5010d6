package ledger

import (
	"slices"

	"github.com/lockgw/lockgw/backend"
)

// serve gives what is free to the first in the queue, and to those behind it that can
// have the name beside it: to asks for good, to others as an offer. Nobody passes one
// who has to wait. Suspects are served after all others, and only by a node that lets
// go: an offer that ran out leaves them a free name.
func (s *stepping) serve(asks string, suspects bool) {
	if s.serveRound(asks, false) && suspects {
		s.serveRound(asks, true)
	}
}

func (s *stepping) serveRound(asks string, suspects bool) (all bool) {
	for i := 0; i < len(s.Queue); i++ {
		e := s.Queue[i]
		missing := s.missing(e)
		if e.Suspect != suspects || missing == 0 {
			continue
		}
		if s.passes(i) || s.then && e.Node == asks {
			return false
		}
		if e.Mode == backend.Shared && s.Firm(e.Node) != nil && !s.exclusive() { // it has that already
			s.dequeue(e.Node)
			s.standFor(e)
			i--
			if e.Node != asks {
				s.tell(e.Node, Look)
			}
			continue
		}
		n := min(missing, s.free(e.Mode))
		if n == 0 {
			return false
		}
		if e.Node == asks {
			s.grant(e.Mode, n)
			s.Taken = false
			if s.Queue[i].Want -= n; s.Queue[i].Want == 0 {
				s.dequeue(e.Node)
				s.standThen()
				i--
			}
		} else {
			s.offer(e, n)
			if next := s.nextAfter(i, asks); next != "" { // it watches whether the offer is taken
				s.tell(next, Look)
			}
		}
	}
	return true
}

// free is how many more may have the name in mode now.
func (s *stepping) free(mode backend.Mode) int {
	used := 0
	for _, h := range s.Holds {
		used += h.Count
	}
	switch {
	case s.exclusive() || mode == backend.Exclusive && used > 0:
		return 0
	case mode.Limit() > 0:
		return max(mode.Limit()-used, 0)
	default:
		return 1
	}
}

// exclusive: somebody has the name, or was offered it, alone.
func (s *stepping) exclusive() bool {
	return slices.ContainsFunc(s.Holds, func(h Hold) bool { return h.Mode == backend.Exclusive })
}

// grant gives n to the node that asks. Permits are added to those it has; a new block
// is reserved in any case.
func (s *stepping) grant(mode backend.Mode, n int) {
	s.Grants = true
	block := s.reserve(s.op.Turns)
	if h := s.Firm(s.op.Node); h != nil {
		h.Count += n
		h.Block = block
		return
	}
	s.Holds = append(s.Holds, Hold{Node: s.op.Node, Mode: mode, Count: n, ID: block, Block: block})
}

func (s *stepping) offer(e Entry, n int) {
	if o := s.Offer(e.Node); o != nil {
		n += o.Count
		s.drop(o)
	}
	s.Holds = append(s.Holds, Hold{Node: e.Node, Mode: e.Mode, Count: n, Offered: true, ID: s.reserve(1)})
	s.stamp(&s.Holds[len(s.Holds)-1], s.op.OfferTTL)
	s.tell(e.Node, Look)
}
