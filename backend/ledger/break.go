package ledger

import (
	"slices"
	"time"

	"github.com/lockgw/lockgw/backend"
)

// breakHold ends a hold by force.
func (s *stepping) breakHold() {
	i := slices.IndexFunc(s.Holds, func(h Hold) bool {
		if s.op.Foreign {
			return h.Foreign()
		}
		return h.ID == s.op.Hold && !h.Offered && h.Node != ""
	})
	if i < 0 {
		return
	}
	h := s.Holds[i]
	if s.op.Caller != 0 { // there are others, who keep theirs
		if !slices.Contains(h.Breaks, s.op.Caller) {
			s.Holds[i].Breaks = append(slices.Clone(h.Breaks), s.op.Caller)
		}
		s.tell(h.Node, Broken)
		return
	}
	s.untold(&h)
	s.drop(&s.Holds[i])
	if s.op.Foreign {
		s.Evicts = true
	} else {
		s.Broken = h.ID
		s.tell(h.Node, Broken)
	}
	s.bar(s.op.Bar)
	s.serve("", true)
}

// bar keeps the name from everybody for d.
func (s *stepping) bar(d time.Duration) {
	if d <= 0 {
		return
	}
	s.Holds = append(s.Holds, Hold{Mode: backend.Exclusive, Count: 1, ID: s.reserve(1)})
	s.stamp(&s.Holds[len(s.Holds)-1], d)
	for _, e := range s.Queue { // whoever is first by then waits for that end now
		s.tell(e.Node, Look)
	}
}
