package model

// network runs the requests of place i, and loses or delays them and their answers.
func (st *stepper) network(i int8) {
	p := &st.s.P[i]
	if r := p.Req; r.Verb != none {
		st.request(i, r)
	}
	if r := p.Renew; r.Verb != none {
		st.renewal(i, r)
	}
	if p.Watching {
		st.do(label{"store runs promote of", i, 0}, progress, func(t *state) {
			p := &t.P[i]
			p.Watching = false
			t.Suspect[st.nodeOf(i+1)] = false
			r := request{By: i + 1}
			st.passOn(t, &r)
			if r.A.Provisional && p.Phase == idle {
				p.Watch = r.A.Wait + 1
			}
			if st.runs(t, i) {
				st.advance(t, i)
			}
		})
	}
}

func (st *stepper) request(i int8, r request) {
	v := verbs[r.Verb]
	switch r.Flight {
	case flying:
		st.do(label{"store runs " + v + " of", i, 0}, progress, func(t *state) { st.run(t, &t.P[i].Req) })
	case answered:
		if st.runs(st.s, i) {
			st.do(label{kinds[r.A.Kind] + ": answer to the " + v + " of", i, 0}, progress, func(t *state) { st.hear(t, i) })
		}
	case quiet:
		if st.runs(st.s, i) && (st.s.P[i].wants() || r.Verb != acquire && r.Verb != confirm) {
			st.do(label{v + " sent again by", i, 0}, progress, func(t *state) {
				q := &t.P[i].Req
				q.Flight, q.Age, q.A = flying, 0, answer{}
			})
		}
	}
	if st.s.Faults.Answer == 0 || r.Flight == quiet {
		return
	}
	st.do(label{"LOST, or late: " + v + " of", i, 0}, outside, func(t *state) {
		t.Faults.Answer--
		st.abandon(t, r)
		q := &t.P[i].Req
		q.Flight, q.A = quiet, answer{}
		st.timer(t, i)
	})
}

func (st *stepper) renewal(i int8, r request) {
	switch {
	case r.Flight == flying:
		st.do(label{"store runs renewal of", i, 0}, progress, func(t *state) { st.run(t, &t.P[i].Renew) })
	case st.runs(st.s, i):
		st.do(label{kinds[r.A.Kind] + ": answer to the renewal of", i, 0}, progress, func(t *state) { st.hearRenewal(t, i) })
	}
	if st.s.Faults.Answer > 0 {
		st.do(label{"LOST, or late: renewal of", i, 0}, outside, func(t *state) {
			t.Faults.Answer--
			st.abandon(t, r)
			t.P[i].Renew, t.P[i].RenewOld = request{}, false
		})
	}
}

// timer lets a running place do what has become due.
func (m *model) timer(s *state, i int8) {
	if m.runs(s, i) {
		m.advance(s, i)
	}
}

var verbs = [...]string{"nothing", "acquire", "confirm", "extend", "release", "cancel", "renewal", "description", "reclaim", "assertion"}

var kinds = [...]string{"", "granted", "queued", "done", "no, others wait", "held", "not held", "forgotten", "overtaken"}
