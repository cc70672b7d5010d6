package model

// advance does all that a place can do now.
func (m *model) advance(s *state, i int8) {
	for m.step(s, i) {
	}
}

func (m *model) step(s *state, i int8) bool {
	switch s.P[i].Phase {
	case idle:
		return m.stepIdle(s, i)
	case queued:
		return m.stepQueued(s, i)
	case holding:
		return m.stepHolding(s, i)
	case releasing:
		return m.stepReleasing(s, i)
	default:
		return m.stepReclaiming(s, i)
	}
}

func (m *model) stepIdle(s *state, i int8) bool {
	p := &s.P[i]
	free := p.Req.Verb == none
	switch {
	case !free && (p.Req.Flight != quiet || p.wants()):
	case !free && m.Undo:
		p.Attempt = p.Req.Seq
		m.undo(s, i)
	case !free:
		p.Req = request{}
		return true
	case p.wants():
		p.Watch = 0
		p.J.Want = p.J.Want || m.Intent && m.Faults.Crash > 0
		m.askFor(s, i, acquire, 0)
	case p.Hint != 0 && m.GiveBack:
		m.undo(s, i)
	case p.Watch == 1:
		p.Watch, p.Watching = 0, true
	}
	return false
}

func (m *model) stepQueued(s *state, i int8) bool {
	p := &s.P[i]
	switch {
	case p.Req.Verb != none && p.Req.Flight != quiet:
	case !p.wants():
		if m.GiveBack {
			m.undo(s, i)
		}
	case p.Req.Verb != none: // it is sent again
	case p.Hint != 0 && !m.Confirm:
		m.outlived(p)
		p.Phase, p.Hold, p.Deadline = holding, p.Hint, m.Lease
		p.begin(max(p.Hint, 0), 1)
		p.Hint = 0
		return true
	case p.Hint != 0:
		m.askFor(s, i, confirm, 0)
	case p.Again == 0 && m.AskAgain && m.AgainTakes:
		m.askFor(s, i, acquire, p.Attempt)
	case p.Again == 0 && m.AskAgain:
		p.Again, p.Watching = m.Lease, true
	}
	return false
}

func (m *model) stepHolding(s *state, i int8) bool {
	p := &s.P[i]
	if p.Deadline == 0 && m.Look {
		m.lose(s, i)
		return true
	}
	if p.Cur != 0 {
		m.stepTurn(s, i)
		return false
	}
	prefetching := p.Req.Verb == extend && !p.Req.Queue
	switch {
	case p.Req.Verb != none && !(prefetching && p.Rest > 0) && (p.wants() || !prefetching && p.Req.Verb != assert):
		return false
	case !p.wants() || p.Others == 2:
		m.letGo(s, i)
	case p.Rest == 0 && p.Ahead == 0:
		m.askFor(s, i, extend, 0)
		return false
	default:
		m.give(s, i)
	}
	return true
}

func (m *model) stepTurn(s *state, i int8) {
	p := &s.P[i]
	if p.Rest <= m.Turns/2 && p.Ahead == 0 && p.wants() && p.Others == 0 && p.Req.Verb == none {
		m.prefetch(s, i)
	}
}

// stepReleasing waits for the answer.
func (m *model) stepReleasing(s *state, i int8) bool {
	p := &s.P[i]
	if !m.NoTurnAfter && p.Req.Verb == release && p.Cur == 0 && p.wants() && p.Deadline > 0 && p.Rest > 0 {
		m.give(s, i)
	}
	return false
}
