package model

// edge says whether a step counts when asking "can this waiter still be served?":
// faults, new arrivals and what others may or may not do do not.
type edge bool

const (
	progress edge = true
	outside  edge = false
)

// label of a step: what happened, at which node or place, to which caller.
type label struct {
	text string
	at   int8 // a place
	c    int8 // caller + 1, 0: none
}

const nowhere int8 = -1

// emit gets a state that can follow, the step and whether it is progress.
type emit func(t *state, l label, e edge)

// stepper makes the states that follow one.
type stepper struct {
	*model
	s    *state
	out  emit
	next state
}

// next calls out for every state that can follow s. The state is out's only until
// it returns.
func (m *model) next(s *state, out emit) {
	st := &stepper{model: m, s: s, out: out}
	if !m.busy(s) {
		st.do(label{"tick", nowhere, 0}, progress, m.tick)
	} else if s.Faults.Slow > 0 {
		st.do(label{"tick, and something is SLOW", nowhere, 0}, outside, func(t *state) {
			t.Faults.Slow--
			m.tick(t)
		})
	}
	st.store()
	for n := range m.nodes() {
		st.faults(n)
	}
	for i := range m.places() {
		st.network(i)
		st.callers(i)
		if m.runs(s, i) {
			st.mail(i)
			st.machine(i)
		}
	}
	st.notes()
}

// do emits what f makes of the state, if it changes anything.
func (st *stepper) do(l label, e edge, f func(t *state)) {
	t := &st.next
	*t = *st.s
	f(t)
	st.check(t)
	t.Broken &^= st.Ignore
	st.normalise(t)
	if *t != *st.s {
		st.out(t, l, e)
	}
}

// store is what happens there without a request of lockgw that somebody waits for.
func (st *stepper) store() {
	s := st.s
	if s.Late.Verb != none {
		st.do(label{"late " + verbs[s.Late.Verb] + " of", s.Late.By - 1, 0}, outside, func(t *state) {
			r := t.Late
			t.Late = request{}
			st.run(t, &r)
		})
	}
	if s.Faults.Foreign > 0 && s.H.By == 0 {
		st.do(label{"a program outside lockgw takes the lock", nowhere, 0}, outside, func(t *state) {
			t.Faults.Foreign--
			t.H = hold{By: foreign, Left: st.Lease, Fence: st.newBlock(t)}
		})
	}
	if s.H.By == foreign {
		st.do(label{"the program outside lockgw lets go", nowhere, 0}, progress, func(t *state) {
			t.free()
			for _, e := range t.Q {
				if e.By != 0 && st.hears(t, e) {
					t.P[e.By-1].Mail.Free = true
				}
			}
		})
	}
	if s.Faults.Forget > 0 {
		st.do(label{"the store RESTARTS and knows nothing", nowhere, 0}, outside, st.forget)
	}
}

// forget: with the guard, nothing is granted until every lease that may
// have been forgotten is over.
func (m *model) forget(s *state) {
	s.Faults.Forget--
	if m.Quarantine {
		s.Guard = m.Lease
	}
	s.free()
	clear(s.Q[:])
	clear(s.Suspect[:])
	clear(s.Floor[:])
	clear(s.Inc[:])
	s.Counter = 0
}
