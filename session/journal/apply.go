package journal

import (
	"iter"
	"time"
)

func (s *State) make() {
	if s.Sessions == nil {
		s.Sessions = map[string]*Session{}
	}
	if s.Places == nil {
		s.Places = map[Key]*Place{}
	}
}

// apply makes the change that r tells, and keeps what r points to. A record about something
// that is not known changes nothing.
func (s *State) apply(r *record) {
	switch r.Op {
	case opNode:
		s.Node, s.Secret, s.Boot, s.Until = r.Node.ID, r.Node.Secret, r.Node.Boot, r.Node.Until
	case opOpened:
		s.Sessions[r.Session.ID] = r.Session
	case opClosed:
		if c := s.Sessions[r.ID]; c != nil {
			c.Answers, c.Losses = nil, nil // recent may still point to it
			delete(s.Sessions, r.ID)
		}
	case opFence:
		s.raise(uint64(r.Number))
	case opSpent, opAnswered, opUnanswered, opLost, opShown, opAway:
		if c := s.Sessions[r.ID]; c != nil {
			c.apply(r)
			if r.Op == opAnswered {
				s.answered(c, r.Answer)
			}
		}
	default:
		s.applyPlace(r)
	}
}

func (c *Session) apply(r *record) {
	switch r.Op {
	case opSpent:
		c.Spent = true
	case opShown:
		c.Shown = r.Shown
	case opAway:
		c.Back = time.Duration(r.Number)
	case opAnswered:
		if c.Answers == nil {
			c.Answers = map[string]Answer{}
		}
		c.Answers[r.Answer.Key] = *r.Answer
	case opUnanswered:
		delete(c.Answers, r.Answer.Key)
	case opLost:
		for old := range c.Losses { // any one: a client that asks for so many is not to be expected
			if len(c.Losses) < maxLosses {
				break
			}
			delete(c.Losses, old)
		}
		if c.Losses == nil {
			c.Losses = map[Owner]Lost{}
		}
		c.Losses[Owner{r.Lost.Name, r.Lost.Thread}] = *r.Lost
	}
}

func (s *State) applyPlace(r *record) {
	k := Key{r.Name, r.Slot}
	p := s.Places[k]
	if p == nil {
		p = &Place{}
	}
	switch r.Op {
	case opWants:
		p.Fence = max(p.Fence, uint64(r.Number))
		s.raise(p.Fence)
		s.Places[k] = p
	case opIdle:
		delete(s.Places, k)
	case opTold:
		t := r.Turn
		p.Turn, p.Fence = t, t.Fence
		s.raise(t.Fence)
		s.Places[k] = p
		if c := s.Sessions[t.Session]; c != nil {
			c.takesAgain(Owner{k.Name, t.Thread})
		}
	case opEnded:
		p.Turn = nil
	case opKept:
		if p.Turn != nil {
			p.Turn.Kept, p.Turn.Owner, p.Turn.Session = true, r.Owner, ""
		}
	case opDeadline:
		if p.Turn != nil {
			p.Turn.Deadline = time.Duration(r.Number)
		}
	case opEntries:
		if p.Turn != nil {
			p.Turn.Count = int(r.Number)
		}
	}
}

// takesAgain: of a hold that was lost before only the repeats of its request are still to be told.
func (c *Session) takesAgain(o Owner) {
	l, ok := c.Losses[o]
	if !ok {
		return
	}
	delete(c.Losses, o)
	for key, a := range c.Answers {
		if a.Fence != 0 && a.Fence == l.Fence && a.Name == l.Name && a.Thread == l.Thread {
			a.Lost = l.Reason
			c.Answers[key] = a
		}
	}
}

// raise the highest fence. It outlives the places, most of which are forgotten when
// nothing is left of them in the store.
func (s *State) raise(fence uint64) { s.Fence = max(s.Fence, fence) }

// records that say what s knows, but for the answers.
func (s *State) records() iter.Seq[*record] {
	return func(yield func(*record) bool) {
		if !yield(&record{Op: opNode, Node: &Node{s.Node, s.Secret, s.Boot, s.Until}}) {
			return
		}
		if s.Fence > 0 && !yield(&record{Op: opFence, Number: int64(s.Fence)}) {
			return
		}
		for _, c := range s.Sessions {
			if !yield(&record{Op: opOpened, Session: c}) || c.Spent && !yield(&record{Op: opSpent, ID: c.ID}) {
				return
			}
		}
		for k, p := range s.Places {
			r := &record{Op: opWants, Name: k.Name, Slot: k.Slot, Number: int64(p.Fence)}
			if p.Turn != nil {
				r.Op, r.Turn, r.Number = opTold, p.Turn, 0
			}
			if !yield(r) {
				return
			}
		}
		for _, c := range s.Sessions { // at last: a turn that is told ends a loss
			for _, l := range c.Losses {
				if !yield(&record{Op: opLost, ID: c.ID, Lost: &l}) {
					return
				}
			}
		}
	}
}
