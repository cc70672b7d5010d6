package model

// mail delivers or loses the messages to place i.
func (st *stepper) mail(i int8) {
	ml := st.s.P[i].Mail
	if ml.Granted != 0 {
		st.letter(i, "grant message", func(ml *mail) { ml.Granted = 0 }, func(t *state) { st.hintGranted(t, i, ml.Granted) })
	}
	if ml.Late {
		st.letter(i, "late grant message", func(ml *mail) { ml.Late = false }, func(t *state) { st.hintGranted(t, i, past) })
	}
	if ml.Others {
		st.letter(i, "message that others wait", func(ml *mail) { ml.Others = false }, func(t *state) { st.hintOthers(t, i) })
	}
	if ml.Watch {
		st.letter(i, "message to watch", func(ml *mail) { ml.Watch = false }, func(t *state) { st.hintWatch(t, i) })
	}
	if ml.Free {
		st.letter(i, "message that the lock is free", func(ml *mail) { ml.Free = false }, func(t *state) { st.hintAgain(t, i) })
	}
}

func (st *stepper) letter(i int8, what string, taken func(*mail), f func(*state)) {
	st.do(label{what + " reaches", i, 0}, progress, func(t *state) {
		taken(&t.P[i].Mail)
		f(t)
	})
	if st.s.Faults.Hint > 0 {
		st.do(label{"LOST: " + what + " to", i, 0}, outside, func(t *state) {
			t.Faults.Hint--
			taken(&t.P[i].Mail)
		})
	}
}

// machine is what place i does by itself.
func (st *stepper) machine(i int8) {
	p := &st.s.P[i]
	st.do(label{"timer of", i, 0}, progress, func(t *state) { st.advance(t, i) })
	if p.Phase == holding && p.Renew.Verb == none && p.Deadline > 0 && p.Deadline < st.Lease {
		st.do(label{"renewal sent by", i, 0}, progress, func(t *state) {
			p := &t.P[i]
			p.Renew = request{Verb: renew, Flight: flying, By: i + 1, Inc: t.N[st.nodeOf(i+1)].Inc, Hold: p.Hold}
			p.RenewOld = false
		})
	}
	if p.Cur != 0 && !p.Told && p.Client[p.Cur-1] == waits {
		st.do(label{"granted: told by", i, p.Cur}, progress, func(t *state) { st.tell(t, i) })
	}
	if p.J != p.present() && p.Phase != reclaiming && (!st.TurnRecord || !st.EndRecord) && st.Faults.Crash > 0 {
		st.do(label{"journal catches up at", i, 0}, progress, func(t *state) { t.P[i].J = t.P[i].present() })
	}
	if !st.Intent && !p.J.Want && p.Phase != reclaiming && (p.Phase != idle || p.Req.Verb != none) {
		st.do(label{"journal learns of the acquire at", i, 0}, progress, func(t *state) { t.P[i].J.Want = true })
	}
}

// callers is what the callers of place i do.
func (st *stepper) callers(i int8) {
	here := st.runs(st.s, i)
	for k := range int8(callers) {
		if here {
			st.caller(i, k+1)
		}
		if c := st.s.P[i].Client[k]; st.s.Faults.Leave > 0 && (c == holds || c == retries) {
			st.do(label{"dies: caller of", i, k + 1}, outside, func(t *state) {
				t.Faults.Leave--
				t.P[i].Client[k] = dead
			})
		}
	}
}

func (st *stepper) caller(i, c int8) {
	p := &st.s.P[i]
	switch p.Client[c-1] {
	case away:
		if p.Ops[c-1] > 0 {
			st.do(label{"asks: caller of", i, c}, outside, func(t *state) {
				t.P[i].Ops[c-1]--
				st.enter(t, i, c)
			})
		}
	case waits:
		if st.s.Faults.Leave > 0 {
			st.do(label{"gives up: caller of", i, c}, outside, func(t *state) {
				t.Faults.Leave--
				st.leave(t, i, c)
			})
		}
	case holds:
		if p.Cur == c && p.Told {
			st.do(label{"releases: caller of", i, c}, progress, func(t *state) { st.end(t, i, c) })
			st.entries(i, c)
		} else {
			st.do(label{"is told that it lost: caller of", i, c}, progress, func(t *state) { t.P[i].Client[c-1] = away })
		}
	case retries:
		st.do(label{"asks again with the same id: caller of", i, c}, progress, func(t *state) {
			p := &t.P[i]
			if p.Client[c-1] = waits; p.Cur == c {
				p.Told = false // the recorded turn is the answer
				return
			}
			p.push(c)
			st.advance(t, i)
		})
	case dead:
		st.do(label{"is noticed to be dead: caller of", i, c}, progress, func(t *state) { st.end(t, i, c) })
	}
}

// faults of node n.
func (st *stepper) faults(n int8) {
	s, x := st.s, &st.s.N[n]
	if x.Up != 0 && s.Faults.Crash > 0 {
		st.do(label{"KILLED: node of", st.firstOf(n), 0}, outside, func(t *state) {
			t.Faults.Crash--
			st.crash(t, n)
		})
	}
	if x.Up == 0 {
		st.do(label{"started again: node of", st.firstOf(n), 0}, outside, func(t *state) { st.restart(t, n) })
	}
	if x.Up == 1 && s.Faults.Pause > 0 {
		st.do(label{"STOPPED: node of", st.firstOf(n), 0}, outside, func(t *state) {
			t.Faults.Pause--
			t.N[n].Up = 2
		})
	}
	if x.Up == 2 {
		st.do(label{"goes on: node of", st.firstOf(n), 0}, outside, func(t *state) { t.N[n].Up = 1 })
	}
	if x.Up == 1 && !x.Deaf && s.Faults.Deaf > 0 {
		st.do(label{"loses its SUBSCRIPTION: node of", st.firstOf(n), 0}, outside, func(t *state) {
			t.Faults.Deaf--
			t.N[n].Deaf = true
			st.each(n, func(i int8) { t.P[i].Mail = mail{} })
		})
	}
	if x.Up == 1 && x.Deaf {
		st.do(label{"subscribes again: node of", st.firstOf(n), 0}, outside, func(t *state) {
			t.N[n].Deaf = false
			st.each(n, func(i int8) { st.hintAgain(t, i) })
		})
	}
}
