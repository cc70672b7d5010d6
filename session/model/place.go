package model

// The steps of a place that its callers cause. Each notes what happened and calls
// advance, as the methods of place in package session do.

func (p *place) wants() bool { return p.Queue[0] != 0 }

func (p *place) push(c int8) {
	for k := range p.Queue {
		if p.Queue[k] == 0 {
			p.Queue[k] = c
			return
		}
	}
}

func (p *place) pushFront(c int8) {
	copy(p.Queue[1:], p.Queue[:])
	p.Queue[0] = c
}

func (p *place) remove(c int8) {
	w := 0
	for _, x := range p.Queue {
		if x != 0 && x != c {
			p.Queue[w] = x
			w++
		}
	}
	clear(p.Queue[w:])
}

// enter: caller c asks for the lock.
func (m *model) enter(s *state, i, c int8) {
	p := &s.P[i]
	p.Client[c-1] = waits
	p.push(c)
	m.advance(s, i)
}

// leave: c, which was not told, gives up.
func (m *model) leave(s *state, i, c int8) {
	p := &s.P[i]
	p.Client[c-1] = away
	p.remove(c)
	if p.Cur == c {
		m.endTurn(p)
	}
	m.advance(s, i)
}

// tell: the caller whose turn it is learns of it, unless its deadline has passed.
func (m *model) tell(s *state, i int8) {
	p := &s.P[i]
	if m.Look && p.Deadline == 0 {
		m.advance(s, i)
		return
	}
	p.Told = true
	p.Client[p.Cur-1] = holds
	if p.Deadline == 0 {
		s.Broken |= ToldLate
	}
	if !s.Last.less(p.Turn) {
		s.Broken |= FenceOrder
	}
	s.Last = p.Turn
}

// end: c gives the lock back, or its gateway notices that it is dead. If it was
// lost meanwhile it is told that.
func (m *model) end(s *state, i, c int8) {
	p := &s.P[i]
	m.advance(s, i)
	p.Client[c-1] = away
	if p.Cur == c {
		m.endTurn(p)
	}
	m.advance(s, i)
}

func (m *model) endTurn(p *place) {
	p.Cur, p.Told = 0, false
	m.record(p, m.EndRecord)
}
