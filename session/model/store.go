package model

// admit refuses a request that was overtaken, and notes that its node is awake.
func (m *model) admit(s *state, r *request) bool {
	n, c := m.nodeOf(r.By), r.By-1
	numbered := r.Verb != confirm && r.Verb != describe
	switch {
	case m.Incarnation && r.Inc < s.Inc[n]:
		return false
	case m.Floor && numbered && r.Inc >= s.Inc[n] && r.Seq < s.Floor[c]:
		return false
	}
	if numbered {
		s.Floor[c] = r.Seq
	}
	if numbered || m.strict() {
		s.Inc[n] = max(s.Inc[n], r.Inc)
	}
	s.Suspect[n] = false
	return true
}

func (s *state) heldBy(by int8) bool { return s.H.By == by }

func (s *state) free() { s.H, s.Bypass = hold{}, 0 }

// grant makes a new hold for the contender of e by its request.
func (m *model) grant(s *state, e entry) {
	b := m.newBlock(s)
	s.H = hold{By: e.By, Inc: e.Inc, Seq: e.Seq, Fence: b, Block: b, Turns: m.Turns, Left: m.Lease, Owner: s.first(e.By), Count: 1, Turn: fence{b, 1}}
}

// first is the caller in whose name a contender asks, +1.
func (s *state) first(by int8) int8 { return s.P[by-1].Queue[0] }

// lease makes the hold of r's sender, perhaps provisional, a lease.
func (m *model) lease(s *state, r *request) {
	h := &s.H
	if h.Provisional || !m.CountStays {
		h.Owner, h.Count = r.Owner, 1
	}
	if h.Provisional {
		h.Left = m.Lease
	}
	h.Provisional = false
	m.prolong(s, r)
	s.dequeue(r.By)
	r.A = m.granted(s, r)
}

// prolong sets the lease anew, as a repeat does, too.
func (m *model) prolong(s *state, r *request) {
	if m.Rearm {
		s.H.Left = m.Lease
	}
	if !m.CountStays && r.Verb == extend {
		s.H.Owner, s.H.Count = r.Owner, r.Count
	}
}

func (m *model) granted(s *state, r *request) answer {
	h := &s.H
	return answer{Kind: granted, Hold: h.Fence, Block: h.Block, Turns: h.Turns, Others: m.othersWait(s, r.By), New: h.Fence != r.Hold}
}

// enqueue: who is there keeps the place.
func (m *model) enqueue(s *state, r *request) {
	for k, e := range s.Q {
		if e.By == r.By || e.By == 0 {
			if e.By == 0 && m.displaced(s, r) {
				s.Broken |= Displaced
			}
			s.Q[k] = entry{r.By, r.Inc, r.Seq}
			return
		}
	}
}

func (s *state) dequeue(by int8) {
	w := 0
	for _, e := range s.Q {
		if e.By != 0 && e.By != by {
			s.Q[w] = e
			w++
		}
	}
	clear(s.Q[w:])
}

func (s *state) queued(by, seq int8) bool {
	for _, e := range s.Q {
		if e.By == by && e.Seq == seq {
			return true
		}
	}
	return false
}

// othersWait: a contender of another node is in the queue.
func (m *model) othersWait(s *state, by int8) bool {
	for _, e := range s.Q {
		if e.By != 0 && m.nodeOf(e.By) != m.nodeOf(by) {
			return true
		}
	}
	return false
}

// promote gives a free name to the first reachable contender, suspects last. The
// result says that this is asks, whose answer carries the grant; any other is sent
// a message and has to confirm.
func (m *model) promote(s *state, asks int8) bool {
	if s.H.By != 0 || s.Guard > 0 {
		return false
	}
	for _, suspects := range [...]bool{false, true} {
		for _, e := range s.Q {
			switch {
			case e.By == 0 || m.Suspects && s.Suspect[m.nodeOf(e.By)] != suspects:
			case e.By == asks:
				m.grant(s, e)
				return true
			case m.hears(s, e):
				m.offer(s, e)
				return false
			}
		}
	}
	return false
}

// offer passes the name to e for a window, and has the next in the queue watch.
func (m *model) offer(s *state, e entry) {
	m.grant(s, e)
	s.H.Provisional, s.H.Left = true, window
	n := m.nodeOf(e.By)
	s.Suspect[n] = true
	s.P[e.By-1].Mail.granted(s.H.Fence)
	if !m.KeepPlace {
		s.dequeue(e.By)
	}
	for _, o := range s.Q {
		if m.WatchNext && o.By != 0 && m.nodeOf(o.By) != n && m.hears(s, o) {
			s.P[o.By-1].Mail.Watch = true
			return
		}
	}
}

// hears: a message to e's channel has a receiver. A stopped process counts.
func (m *model) hears(s *state, e entry) bool {
	n := s.N[m.nodeOf(e.By)]
	return n.Up != 0 && !n.Deaf && n.Inc == e.Inc
}

// tellHolder lets the holder know that r's sender waits.
func (m *model) tellHolder(s *state, r *request) {
	h := entry{s.H.By, s.H.Inc, 0}
	if h.By != 0 && h.By != foreign && m.nodeOf(h.By) != m.nodeOf(r.By) && m.hears(s, h) {
		s.P[h.By-1].Mail.Others = true
	}
}

func (ml *mail) granted(f int8) {
	ml.Late = ml.Late || ml.Granted != 0 && ml.Granted != f
	ml.Granted = f
}
