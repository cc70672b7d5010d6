package model

// The journal is planned; the code has none. A restarted process reads of each
// place whether an acquire may be under way and whose turn it was, and asks the
// store to reclaim that hold before it answers anybody.

// record writes the present turn; a record that may lag is written later.
func (m *model) record(p *place, now bool) {
	if now && m.Faults.Crash > 0 {
		p.J = p.present()
	}
}

// present is what the journal says once it is up to date.
func (p *place) present() journal {
	if p.Cur == 0 {
		return journal{Want: p.J.Want}
	}
	return journal{Want: p.J.Want, Hold: p.Hold, Turn: p.Turn, Cur: p.Cur}
}

// crash kills the process of node n. What its clients believe stays.
func (m *model) crash(s *state, n int8) {
	s.N[n].Up, s.N[n].Deaf = 0, false
	for i := range m.places() {
		if m.Places[i] != n {
			continue
		}
		p := &s.P[i]
		m.abandon(s, p.Req)
		for k := range p.Client {
			if p.Client[k] == waits {
				p.Client[k] = retries
			}
		}
		*p = place{Deadline: p.Deadline, Client: p.Client, Ops: p.Ops, J: p.J}
	}
}

// restart begins a later process of node n.
func (m *model) restart(s *state, n int8) {
	s.N[n].Up = 1
	s.N[n].Inc++
	for i := range m.places() {
		p := &s.P[i]
		if m.Places[i] == n && (p.J.Want || p.J.Cur != 0) {
			p.Phase = reclaiming
			m.ask(s, i, request{Verb: reclaim, Hold: p.J.Hold})
		}
	}
}

func (m *model) takeReclaim(s *state, p *place, r request, left int8) {
	if r.A.Kind != granted {
		p.Phase, p.J = idle, journal{}
		m.outlived(p)
		return
	}
	switch {
	case p.Deadline > 0:
	case m.DeadlineRecord:
		left = 0
	case left > 0 && p.Client[p.J.Cur-1] == holds:
		s.Broken |= Revived
	}
	p.Phase, p.Hold, p.Attempt = holding, p.J.Hold, r.Seq
	p.begin(r.A.Block, r.A.Turns)
	p.Turn, p.Cur, p.Told, p.Deadline = p.J.Turn, p.J.Cur, true, left
	if r.A.Others {
		p.Others, p.Rest = 1, 0 // or the turns of two blocks would pass before another node's
	}
}
