package model

// underway: an answer is on its way that may be older than a message.
func (p *place) underway() bool { return p.Req.Verb != none && p.Req.Flight != quiet }

// hintGranted takes a message that names the hold f; past: one that is over.
func (m *model) hintGranted(s *state, i, f int8) {
	p := &s.P[i]
	if !m.Keep && p.underway() {
		return
	}
	if p.Phase != holding || p.Req.Verb == extend {
		p.Hint = f
	}
	m.advance(s, i)
}

func (m *model) hintOthers(s *state, i int8) {
	p := &s.P[i]
	if p.Phase == holding {
		p.Others = max(p.Others, 1)
	}
	p.Crowded = m.KeepAll && p.Req.Verb != none
	m.advance(s, i)
}

func (m *model) hintWatch(s *state, i int8) { m.askBy(s, i, window) }

// hintAgain: a holder outside lockgw let go, or messages may have been lost.
func (m *model) hintAgain(s *state, i int8) { m.askBy(s, i, 0) }

// askBy has a contender ask again after so many ticks, if it would not do so
// earlier. An answer that is under way may be older than the message that says so.
func (m *model) askBy(s *state, i, after int8) {
	p := &s.P[i]
	if p.Phase == queued {
		p.Again = min(p.Again, after)
	}
	if m.KeepAll && p.Req.Verb != none {
		p.Nudge = after + 1
	}
	m.advance(s, i)
}
