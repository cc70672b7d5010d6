package model

// ask sends r. What was under way is superseded: its answer will be ignored, and
// it may still arrive.
func (m *model) ask(s *state, i int8, r request) {
	p := &s.P[i]
	if r.Seq == 0 && r.Verb != confirm {
		r.Seq = s.newSeq(i)
	}
	m.abandon(s, p.Req)
	r.By, r.Inc, r.Flight = i+1, s.N[m.nodeOf(i+1)].Inc, flying
	p.Req = r
}

// abandon leaves r, if it is on its way to the store, to arrive late or never.
func (m *model) abandon(s *state, r request) {
	if r.Verb != none && r.Flight == flying && s.Late.Verb == none {
		s.Late = r
	}
}

// hear takes the answer to the numbered request.
func (m *model) hear(s *state, i int8) {
	p := &s.P[i]
	r := p.Req
	p.Req = request{}
	left := m.Lease
	if m.FromSending {
		left = max(m.Lease-r.Age, 0)
	}
	switch {
	case r.A.Kind == stale:
		m.overtaken(s, i)
	case r.Verb == reclaim:
		m.takeReclaim(s, p, r, left)
	case r.Verb == confirm && r.A.Kind == notHeld:
		p.Hint, p.Again = 0, 0
	case r.Verb == assert && r.A.Kind == done && (p.Deadline > 0 || !m.Final):
		p.Attempt = r.Seq
		m.lengthen(s, p, left)
	case r.Verb == assert:
		m.lose(s, i)
	case r.Verb == extend:
		m.takeExtend(s, i, r, left)
	case r.Verb == release && !r.Queue:
		m.released(p, r)
	case r.Verb == cancel:
		p.Phase = idle
		p.J = journal{}
	default:
		m.takeGrant(p, r, left)
	}
	m.advance(s, i)
}

// takeGrant takes the answer to a request that asked for the name.
func (m *model) takeGrant(p *place, r request, left int8) {
	nudge, crowded := p.Nudge, p.Crowded
	p.Nudge, p.Crowded = 0, false
	if r.Verb != confirm {
		p.Attempt = r.Seq
	}
	switch r.A.Kind {
	case granted:
		m.outlived(p)
		p.Phase, p.Hint, p.Hold, p.Deadline = holding, 0, r.A.Hold, left
		p.begin(r.A.Block, r.A.Turns)
		p.RenewOld, p.Others = true, 0
		if r.A.Others || crowded {
			p.Others = 1
		}
	case inQueue:
		p.Phase, p.Again = queued, min(r.A.Wait, m.Lease)
		if nudge > 0 {
			p.Again = min(p.Again, nudge-1)
		}
	default:
		p.Phase = idle
	}
}

func (m *model) takeExtend(s *state, i int8, r request, left int8) {
	p := &s.P[i]
	if r.A.Kind == inQueue || r.A.Kind == granted && r.A.New {
		m.takeGrant(p, r, left)
		return
	}
	p.Hint = 0
	switch {
	case r.A.Kind == notHeld:
		m.lose(s, i)
	case p.Deadline == 0 && m.Final:
	default:
		m.lengthen(s, p, left)
		if r.A.Kind == others {
			p.Others = max(p.Others, 1)
			return
		}
		if p.Rest > 0 {
			p.Ahead, p.More = r.A.Block, r.A.Turns
			return
		}
		p.begin(r.A.Block, r.A.Turns)
	}
}

func (m *model) released(p *place, r request) {
	p.Phase, p.J = idle, journal{}
	if r.A.Provisional && m.WatchNext {
		p.Watch = r.A.Wait + 1
	}
}

// lengthen moves the deadline.
func (m *model) lengthen(s *state, p *place, left int8) {
	if p.Deadline == 0 && left > 0 && p.Cur != 0 && p.Told {
		s.Broken |= Revived
	}
	p.Deadline = max(p.Deadline, left)
}

// hearRenewal takes the answer to a renewal.
func (m *model) hearRenewal(s *state, i int8) {
	p := &s.P[i]
	r := p.Renew
	old := p.RenewOld
	p.Renew, p.RenewOld = request{}, false
	left := m.Lease
	if m.FromSending {
		left = max(m.Lease-r.Age, 0)
	}
	switch {
	case old || p.Phase != holding:
	case p.Deadline == 0 && m.Final:
	case r.A.Kind == notHeld:
		m.lose(s, i)
	case r.A.Kind == forgotten:
		if p.Req.Verb == none {
			m.ask(s, i, request{Verb: assert, Hold: p.Hold, Block: p.newest(), Turns: m.Turns})
		}
	default:
		m.lengthen(s, p, left)
	}
	m.advance(s, i)
}

// overtaken: a later process speaks for this node. No rule lets that come about
// while this one runs.
func (m *model) overtaken(s *state, i int8) {
	p := &s.P[i]
	s.Broken |= Overtaken
	p.Phase, p.Cur, p.Told = idle, 0, false
	clear(p.Queue[:])
	clear(p.Client[:])
}

// outlived: callers of a dead process whose deadline has passed know that they
// have lost.
func (m *model) outlived(p *place) {
	for k := range p.Client {
		if p.Client[k] == holds && p.Deadline == 0 {
			p.Client[k] = away
		}
	}
}
