package model

// run has the store run r, which becomes its answer. Each case is a script of
// backend/redis, or a method of backend/memory.
func (m *model) run(s *state, r *request) {
	r.Flight = answered
	if r.Verb != renew && !m.admit(s, r) {
		r.A = answer{Kind: stale}
		return
	}
	mine := s.heldBy(r.By) && s.H.Fence == r.Hold
	switch r.Verb {
	case acquire:
		m.contend(s, r)
	case confirm:
		r.A = answer{Kind: notHeld}
		if mine {
			m.lease(s, r)
		}
	case extend:
		m.extend(s, r, mine)
	case release:
		m.release(s, r, mine)
	case cancel:
		m.cancel(s, r, mine)
	case renew:
		m.renew(s, r, mine)
	case describe:
		m.describe(s, r, mine)
	case reclaim:
		m.reclaim(s, r, mine)
	case assert:
		m.assert(s, r, mine)
	}
}

// contend asks for the name.
func (m *model) contend(s *state, r *request) {
	if s.heldBy(r.By) {
		if s.H.Seq == r.Seq && s.H.Inc == r.Inc || !m.Drop {
			m.lease(s, r)
			return
		}
		s.free()
	}
	m.enqueue(s, r)
	if m.promote(s, r.By) {
		m.lease(s, r)
		return
	}
	r.A = answer{Kind: inQueue, Wait: max(s.H.Left, s.Guard), Provisional: s.H.Provisional}
	if !r.Queue {
		s.dequeue(r.By)
		r.A.Kind = held
		return
	}
	m.tellHolder(s, r)
}

func (m *model) extend(s *state, r *request, mine bool) {
	switch {
	case r.Queue && (s.heldBy(r.By) && s.H.Seq == r.Seq || s.queued(r.By, r.Seq)):
		m.contend(s, r) // a repeat: it has let go already
		return
	case !mine:
		r.A = answer{Kind: notHeld}
		return
	case s.H.Block != r.Block: // a repeat: the block is reserved
	case m.StoreYields && m.othersWait(s, r.By) && r.Queue:
		s.free()
		m.contend(s, r)
		return
	case m.StoreYields && m.othersWait(s, r.By):
		m.prolong(s, r)
		r.A = answer{Kind: others}
		return
	default:
		s.H.Block, s.H.Turns = m.newBlock(s), r.Turns
	}
	m.prolong(s, r)
	r.A = m.granted(s, r)
}

func (m *model) release(s *state, r *request, mine bool) {
	if mine || s.heldBy(r.By) && !m.ByFence {
		s.free()
	}
	if r.Queue {
		m.contend(s, r)
		return
	}
	if m.Withdraw {
		m.withdraw(s, r)
	}
	m.passOn(s, r)
}

func (m *model) cancel(s *state, r *request, mine bool) {
	if mine && m.CancelFrees {
		s.dequeue(r.By)
		s.free()
	}
	m.withdraw(s, r)
	m.passOn(s, r)
}

// withdraw takes back what the request Attempt has left of its contender.
func (m *model) withdraw(s *state, r *request) {
	if s.queued(r.By, r.Attempt) {
		s.dequeue(r.By)
	}
	if s.heldBy(r.By) && s.H.Seq == r.Attempt && m.CancelFrees {
		s.free()
	}
}

func (m *model) passOn(s *state, r *request) {
	m.promote(s, 0)
	r.A = answer{Kind: done, Provisional: s.H.Provisional, Wait: s.H.Left}
}

// renew is not numbered: its guard is the fence.
func (m *model) renew(s *state, r *request, mine bool) {
	r.A = answer{Kind: done}
	switch {
	case mine || !m.ByFence && s.heldBy(r.By):
		s.H.Left = m.Lease
	case s.Guard > 0 && r.Hold > s.H.Fence:
		r.A.Kind = forgotten
	default:
		r.A.Kind = notHeld
	}
}

// assert (planned) brings back a hold that the store has forgotten. It is numbered,
// so that a release ends it, and possible only while nothing is granted.
func (m *model) assert(s *state, r *request, mine bool) {
	r.A = answer{Kind: done}
	switch {
	case mine:
		s.H.Left = m.Lease
	case s.Guard > 0 && r.Hold > s.H.Fence:
		s.H = hold{By: r.By, Inc: r.Inc, Seq: r.Seq, Fence: r.Hold, Block: r.Block, Turns: r.Turns, Left: m.Lease}
	default:
		r.A.Kind = notHeld
	}
}

// describe writes who has the turn, unless a later description is known.
func (m *model) describe(s *state, r *request, mine bool) {
	h := &s.H
	switch {
	case !mine:
		r.A = answer{Kind: notHeld}
		return
	case m.Numbered && r.Seq < h.Described:
	case m.Absolute || h.Turn != r.Turn:
		h.Owner, h.Count, h.Turn, h.Described = r.Owner, r.Count, r.Turn, r.Seq
	default:
		h.Count += r.Delta
	}
	r.A = answer{Kind: done}
}

// reclaim adopts the hold that the journal names and drops everything
// else of older processes.
func (m *model) reclaim(s *state, r *request, mine bool) {
	s.dequeue(r.By)
	if mine {
		h := &s.H
		if h.Seq != r.Seq { // else a repeat
			h.Block, h.Turns = m.newBlock(s), m.Turns
		}
		h.Provisional, h.Inc, h.Seq, h.Left = false, r.Inc, r.Seq, m.Lease
		r.A = answer{Kind: granted, Hold: h.Fence, Block: h.Block, Turns: h.Turns, Others: m.othersWait(s, r.By)}
		return
	}
	if s.heldBy(r.By) {
		s.free()
	}
	m.passOn(s, r)
	r.A.Kind = notHeld
}
