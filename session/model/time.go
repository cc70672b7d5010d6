package model

// tick lets time pass. A lease that ends runs no script.
func (m *model) tick(s *state) {
	if s.Guard > 0 {
		s.Guard--
	}
	if s.H.By != 0 {
		if s.H.Left--; s.H.Left <= 0 {
			s.free()
		}
	}
	for i := range m.places() {
		p := &s.P[i]
		p.Deadline = max(p.Deadline-1, 0)
		p.Again = max(p.Again-1, 0)
		if p.Watch > 1 {
			p.Watch--
		}
		if p.Nudge > 1 {
			p.Nudge--
		}
		if p.Others == 1 {
			p.Others = 2
		}
		p.Req.tick(m.Lease)
		p.Renew.tick(m.Lease)
	}
}

// busy: something is under way that takes less than a tick, unless it is slow.
func (m *model) busy(s *state) bool {
	for i := range m.places() {
		p := &s.P[i]
		here := m.runs(s, i)
		switch {
		case p.Req.underway(here), p.Renew.underway(here), p.Watching:
			return true
		case here && (p.Mail != mail{} || p.Cur != 0 && !p.Told && p.Client[p.Cur-1] == waits || m.due(p)):
			return true
		}
	}
	for _, r := range s.Notes {
		if r.Verb != none && r.underway(m.runs(s, r.By-1)) {
			return true
		}
	}
	return false
}

// due: a timer is to go off.
func (m *model) due(p *place) bool {
	switch p.Phase {
	case idle:
		return p.Watch == 1
	case queued:
		return p.Again == 0 && p.Req.Verb == none && m.AskAgain
	case holding:
		return p.Deadline == 0 && m.Look
	default:
		return false
	}
}

func (r *request) underway(here bool) bool {
	return r.Flight == flying || r.Flight == answered && here
}

func (r *request) tick(lease int8) {
	if r.Verb != none {
		r.Age = min(r.Age+1, lease)
		r.A.Wait = max(r.A.Wait-1, 0)
	}
}
