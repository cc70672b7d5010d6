package model

// askFor asks for the name on behalf of the first in the queue; seq 0 begins a
// new attempt.
func (m *model) askFor(s *state, i int8, v verb, seq int8) {
	p := &s.P[i]
	r := request{Verb: v, Seq: seq, Hold: p.Hold, Block: p.newest(), Turns: m.Turns, Queue: true, Owner: p.Queue[0]}
	if v == confirm {
		r.Hold = p.Hint
	}
	m.ask(s, i, r)
}

// prefetch reserves what is missing to a whole block while turns go on.
func (m *model) prefetch(s *state, i int8) {
	p := &s.P[i]
	n := m.Turns
	if m.Budget {
		n -= p.Rest
	}
	m.ask(s, i, request{Verb: extend, Hold: p.Hold, Block: p.Block, Turns: n, Count: p.Count, Owner: p.Cur})
}

// begin goes on with the first of n fences of block b.
func (p *place) begin(b, n int8) { p.Block, p.Next, p.Rest, p.Ahead, p.More = b, 1, n, 0, 0 }

// newest block that the place knows of.
func (p *place) newest() int8 {
	if p.Ahead != 0 {
		return p.Ahead
	}
	return p.Block
}

// letGo releases the hold; who waits here queues at the store anew.
func (m *model) letGo(s *state, i int8) {
	p := &s.P[i]
	if q := p.Req; q.Verb == extend && q.Queue && !p.wants() {
		p.Attempt, p.Hint = q.Seq, p.Hold
		m.undo(s, i)
		return
	}
	p.Phase, p.Hint, p.Others, p.RenewOld = releasing, 0, 0, true
	m.ask(s, i, request{Verb: release, Hold: p.Hold, Attempt: p.Attempt, Queue: p.wants(), Owner: p.Queue[0]})
}

// undo leaves the store's queue, or gives back what was granted there.
func (m *model) undo(s *state, i int8) {
	p := &s.P[i]
	p.Phase, p.Others, p.RenewOld = releasing, 0, true
	m.ask(s, i, request{Verb: cancel, Attempt: p.Attempt, Hold: p.Hint})
	p.Hint = 0
}

// lose ends the hold: nobody here has the name any more, told or not.
func (m *model) lose(s *state, i int8) {
	p := &s.P[i]
	if p.Cur != 0 {
		m.drop(p)
	}
	m.letGo(s, i)
}

// drop ends the turn. Who was not told waits again.
func (m *model) drop(p *place) {
	if c := p.Cur; p.Client[c-1] == waits {
		p.pushFront(c)
	} else {
		p.Client[c-1] = away
	}
	m.endTurn(p)
}

// give gives the turn to the first in the queue.
func (m *model) give(s *state, i int8) {
	p := &s.P[i]
	p.Cur, p.Told = p.Queue[0], false
	p.remove(p.Cur)
	if p.Rest == 0 {
		p.begin(p.Ahead, p.More)
	}
	p.Turn = fence{p.Block, p.Next}
	p.Next++
	p.Rest--
	p.Count, p.Vague, p.Lazy = 1, false, p.Turn != fence{p.Hold, 1}
	m.record(p, m.TurnRecord)
	m.countBypass(s, i)
}

// countBypass counts the turns that a node gives while another one could have
// the name.
func (m *model) countBypass(s *state, i int8) {
	if !s.heldBy(i+1) || s.H.Fence != s.P[i].Hold || !m.passed(s) {
		return
	}
	if s.Bypass++; s.Bypass > m.Turns {
		s.Broken |= Bypassed
	}
}

// passed: a node waits that could have the name in place of its holder.
func (m *model) passed(s *state) bool {
	for _, e := range s.Q {
		if e.By != 0 && m.nodeOf(e.By) != m.nodeOf(s.H.By) && s.N[m.nodeOf(e.By)].Up == 1 && m.hears(s, e) {
			return true
		}
	}
	return false
}
