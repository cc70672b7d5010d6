package model

// Re-entry: the count of entries is kept by the place, and written into the store
// before an entry is told. What is written last is not what arrives last.

// entries of caller c, which has the turn at place i.
func (st *stepper) entries(i, c int8) {
	p := &st.s.P[i]
	if st.Instance.Faults.Enter == 0 || p.Phase != holding || p.Deadline == 0 {
		return
	}
	write, lazy := st.s.writing(i, c)
	if !write && st.s.Faults.Enter > 0 {
		st.do(label{"enters again: caller of", i, c}, outside, func(t *state) {
			t.Faults.Enter--
			st.write(t, i, +1)
		})
	}
	if !write && p.Count > 1 {
		st.do(label{"leaves once: caller of", i, c}, progress, func(t *state) { st.write(t, i, -1) })
	}
	if p.Lazy && !lazy {
		st.do(label{"description of the turn sent by", i, 0}, progress, func(t *state) {
			t.P[i].Lazy = false
			if !write || !st.NotBeside { // an entry that is being written describes the turn as well
				st.write(t, i, 0)
			}
		})
	}
}

// writing says whether a change of c's count, and a mere description, are under way.
func (s *state) writing(i, c int8) (write, lazy bool) {
	for _, r := range s.Notes {
		if r.Verb != none && r.By == i+1 && r.Owner == c {
			write, lazy = write || r.Delta != 0, lazy || r.Delta == 0
		}
	}
	return write, lazy
}

// write has the store told of the turn, and of a change of its entries.
func (m *model) write(s *state, i, delta int8) {
	p := &s.P[i]
	r := request{
		Verb: describe, Flight: flying, By: i + 1, Inc: s.N[m.nodeOf(i+1)].Inc,
		Hold: p.Hold, Owner: p.Cur, Count: p.Count + delta, Turn: p.Turn, Delta: delta, Seq: s.newSeq(i),
	}
	for k := range s.Notes {
		if s.Notes[k].Verb == none {
			s.Notes[k] = r
			return
		}
	}
}

// notes runs the descriptions, and loses or delays them and their answers.
func (st *stepper) notes() {
	for k, r := range st.s.Notes {
		if r.Verb == none {
			continue
		}
		i := r.By - 1
		if r.Flight == flying {
			st.do(label{"store runs description of", i, r.Owner}, progress, func(t *state) { st.run(t, &t.Notes[k]) })
		} else if st.runs(st.s, i) {
			st.do(label{kinds[r.A.Kind] + ": answer to the description of", i, r.Owner}, progress, func(t *state) {
				st.written(t, k, false)
			})
		}
		if st.s.Faults.Answer > 0 {
			st.do(label{"LOST, or late: description of", i, r.Owner}, outside, func(t *state) {
				t.Faults.Answer--
				st.abandon(t, r)
				st.written(t, k, true)
			})
		}
	}
}

// written takes the answer to a description. An entry more counts only if the
// store has confirmed it; one less is the caller's word.
func (m *model) written(s *state, k int, lost bool) {
	r := s.Notes[k]
	s.Notes[k] = request{}
	i := r.By - 1
	p := &s.P[i]
	if p.Phase != holding || p.Cur != r.Owner || p.Turn != r.Turn || p.Deadline == 0 {
		m.timer(s, i)
		return
	}
	switch {
	case lost:
		p.Vague = true
		if r.Delta < 0 {
			p.Count--
		}
	case r.A.Kind != done:
		m.lose(s, i)
	case r.Delta != 0:
		p.Count += r.Delta
		p.Vague = false
		if mine := s.heldBy(i+1) && s.H.Fence == p.Hold; mine && (s.H.Count != p.Count || s.H.Owner != p.Cur) {
			s.Broken |= WrongCount
		}
	}
	m.timer(s, i)
}

// tidyNotes forgets what nobody looks at any more, and puts the rest into one
// order.
func (m *model) tidyNotes(s *state) {
	if m.Faults.Enter == 0 {
		return
	}
	for k := range s.Notes {
		r := &s.Notes[k]
		if r.Verb == none || r.Flight != answered {
			continue
		}
		r.Seq, r.Age = 0, 0
		if r.Delta == 0 || s.P[r.By-1].Turn != r.Turn {
			*r = request{}
		}
	}
	w := 0
	for _, r := range s.Notes {
		if r.Verb != none {
			s.Notes[w] = r
			w++
		}
	}
	clear(s.Notes[w:])
}
