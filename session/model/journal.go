package model

// A restarted process reads of each place whether an acquire may be under way and
// whose turn it was, and asks the store to reclaim that hold. What was told goes on
// until its deadline meanwhile.

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
			p.Phase, p.Hold, p.Cur, p.Turn, p.Told = reclaiming, p.J.Hold, p.J.Cur, p.J.Turn, p.J.Cur != 0
			m.ask(s, i, request{Verb: reclaim, Hold: p.J.Hold})
			m.advance(s, i)
		}
	}
}

// stepReclaiming: what was told is held until its deadline, or its release. That is
// sent once the store has answered: the process before may have left more there.
func (m *model) stepReclaiming(s *state, i int8) bool {
	p := &s.P[i]
	if p.Cur == 0 || p.Deadline > 0 || !m.DeadlineRecord {
		return false
	}
	m.drop(p)
	return true
}

func (m *model) takeReclaim(s *state, p *place, r request, left int8) {
	if r.A.Kind != granted {
		if p.Cur != 0 {
			m.drop(p)
		}
		p.Phase, p.J = idle, journal{}
		m.outlived(p)
		return
	}
	if p.Cur != 0 && p.Deadline == 0 {
		if m.DeadlineRecord {
			m.drop(p)
		} else if left > 0 && p.Client[p.Cur-1] == holds {
			s.Broken |= Revived
		}
	}
	p.Phase, p.Attempt, p.Deadline = holding, r.Seq, max(p.Deadline, left)
	p.begin(r.A.Block, r.A.Turns)
	if r.A.Others {
		p.Others, p.Rest = 1, 0 // or the turns of two blocks would pass before another node's
	}
}
