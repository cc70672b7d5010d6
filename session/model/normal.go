package model

// The normal form of a state forgets what no longer matters and renumbers fences
// and request numbers by rank: only their order counts. So counters without end
// become finite, and with them the states.

func (m *model) normalise(s *state) {
	m.forgetTurns(s)
	if s.H.By == 0 || s.H.By == foreign || !m.passed(s) {
		s.Bypass = 0
	}
	for i := range m.places() {
		m.tidy(s, i)
	}
	m.tidyLate(s)
	m.tidyNotes(s)
	if s.Guard == 0 && (s.Faults.Forget == 0 || !m.Quarantine) {
		s.guards(func(f *int8) {
			if *f != 0 && *f != s.H.Fence {
				*f = past
			}
		})
	}
	m.rankFences(s)
	for i := range m.places() {
		s.rankNumbers(i)
	}
}

// tidy clears what place i does not look at before it sets it.
func (m *model) tidy(s *state, i int8) {
	p := &s.P[i]
	if p.Phase != holding && p.Phase != releasing && p.Phase != reclaiming {
		p.Hold, p.Others = 0, 0
		p.begin(0, 0)
	}
	if p.Phase == releasing && m.NoTurnAfter {
		p.Others = 0
		p.begin(0, 0)
	}
	if p.Phase != queued {
		p.Again = 0
	}
	if p.Phase != queued && p.Phase != holding {
		p.Attempt = 0
	}
	if p.Cur == 0 {
		p.Turn, p.Told, p.Count, p.Vague, p.Lazy = fence{}, false, 0, false, false
	}
	if p.Phase != holding && p.Phase != reclaiming && !p.believed() && p.J.Cur == 0 && (m.NoTurnAfter || p.Phase != releasing) {
		p.Deadline = 0
	}
	if p.Req.Verb == none {
		p.Nudge, p.Crowded = 0, false
	}
	if ml := &p.Mail; ml.Granted != 0 && ml.Granted != s.H.Fence {
		ml.Granted, ml.Late = 0, m.Faults.Hint > 0
	}
	p.Req.tidy(s)
	p.Renew.tidy(s)
	if p.Phase != holding {
		p.RenewOld = true
	}
	if p.Renew.Verb == none || p.RenewOld && (p.Renew.Flight == answered || p.Renew.Hold == past) {
		p.Renew, p.RenewOld = request{}, false
	}
	if p.Phase != reclaiming && p.J.Cur == 0 {
		p.J.Hold, p.J.Turn = 0, fence{}
	}
}

// believed: a caller was told, and has not heard that it is over.
func (p *place) believed() bool {
	for _, c := range p.Client {
		if c == holds {
			return true
		}
	}
	return false
}

func (r *request) tidy(s *state) {
	if r.Flight == answered && s.Faults.Answer == 0 { // it will not be sent again
		r.Owner, r.Count, r.Block, r.Turns = 0, 0, 0, 0
		if r.Verb != renew {
			r.Hold = 0
		}
	}
	if r.Flight == quiet || r.Verb == cancel || r.Verb == release && !r.Queue || r.Verb == describe ||
		r.Flight == answered && r.A.Kind != granted && r.A.Kind != others && r.A.Kind != done {
		r.Age = 0
	}
	if r.Verb == acquire {
		r.Hold = 0
	}
	if r.Block != 0 && r.Block != s.H.Block && r.Verb != assert {
		r.Block = past
	}
}

// tidyLate drops a late request that can do nothing any more.
func (m *model) tidyLate(s *state) {
	r := &s.Late
	if r.Verb == none {
		return
	}
	r.Age = 0
	r.tidy(s)
	over := r.Hold != s.H.Fence
	numbered := r.Verb != confirm && r.Verb != describe && r.Verb != renew
	switch {
	case s.Faults.Forget > 0 || s.Guard > 0:
		return
	case m.Incarnation && r.Verb != renew && r.Inc < s.Inc[m.nodeOf(r.By)],
		m.Floor && numbered && r.Inc >= s.Inc[m.nodeOf(r.By)] && r.Seq < s.Floor[r.By-1],
		over && (r.Verb == confirm || r.Verb == describe || r.Verb == extend && !r.Queue),
		over && r.Verb == renew && (m.ByFence || !s.heldBy(r.By)):
		*r = request{}
	}
}

// guards visits every fence that names a hold, to be compared with the present one.
func (s *state) guards(f func(*int8)) {
	s.Late.guards(f)
	for i := range s.P {
		p := &s.P[i]
		f(&p.Hold)
		f(&p.Hint)
		f(&p.J.Hold)
		p.Req.guards(f)
		p.Renew.guards(f)
	}
	for k := range s.Notes {
		s.Notes[k].guards(f)
	}
}

func (r *request) guards(f func(*int8)) {
	f(&r.Hold)
	f(&r.A.Hold)
}

// forgetTurns clears who is written in the store, where no instance looks at it.
func (m *model) forgetTurns(s *state) {
	if m.Faults.Enter > 0 {
		return
	}
	s.H.Owner, s.H.Count, s.H.Turn, s.H.Described = 0, 0, fence{}, 0
	s.Late.Owner, s.Late.Count, s.Late.Turn = 0, 0, fence{}
	for i := range m.places() {
		p := &s.P[i]
		p.Count, p.Vague, p.Lazy = 0, false, false
		p.Req.Owner, p.Req.Count, p.Req.Turn = 0, 0, fence{}
		if p.Told && m.Faults.Crash == 0 {
			p.Turn = fence{}
		}
	}
}
