// Package model checks the protocol by which gateways pass a lock on: it visits
// every state that a small instance of it can reach, breadth first, and looks for
// one in which a promise is broken.
//
// store.go and script.go are what a store does (backend/memory, backend/redis),
// place.go, machine.go, turns.go, request.go, hints.go and entries.go what a node
// does, under the names of package session; network.go, steps.go and time.go say
// what can happen next. There is one lock. A tick passes when nothing is under way
// or, as a fault, while something is. docs/model.md says what is left out.
package model

// Instance is how much there is of everything.
type Instance struct {
	// Places says to which node each place belongs: one of a node where it is one
	// contender, several where the order is strict.
	Places []int8
	// Ops is how often each caller of each place asks for the lock.
	Ops    [maxPlaces][callers]int8
	Turns  int8 // fences in a block
	Lease  int8 // in ticks
	Faults Faults
	// Ignore is what is known to be broken; the search goes on past it.
	Ignore Property
}

// Faults are what may still happen, each so many times.
type Faults struct {
	Crash   int8 // a process is killed, and started again some time
	Pause   int8 // a process is stopped, and goes on some time
	Deaf    int8 // a subscription breaks, and is made again some time
	Hint    int8 // a message is lost, or comes when the hold it tells of is over
	Slow    int8 // a tick passes while something is under way that takes less as a rule
	Answer  int8 // a request or its answer is lost, or the request arrives late
	Leave   int8 // a caller gives up, or dies
	Enter   int8 // a holder enters again (no fault)
	Foreign int8 // a program outside lockgw takes the lock
	Forget  int8 // the store restarts and knows nothing
}

type model struct {
	Rules
	Instance
}

func (m *model) places() int8 { return int8(len(m.Places)) }

func (m *model) nodes() int8 {
	n := int8(0)
	for _, x := range m.Places {
		n = max(n, x+1)
	}
	return n
}

// strict: every waiter is a contender of its own.
func (m *model) strict() bool { return m.places() != m.nodes() }

// nodeOf a contender.
func (m *model) nodeOf(by int8) int8 { return m.Places[by-1] }

func (m *model) runs(s *state, i int8) bool { return s.N[m.Places[i]].Up == 1 }

// each calls f for every place of node n.
func (m *model) each(n int8, f func(i int8)) {
	for i := range m.places() {
		if m.Places[i] == n {
			f(i)
		}
	}
}

func (m *model) firstOf(n int8) int8 {
	for i := range m.places() {
		if m.Places[i] == n {
			return i
		}
	}
	return 0
}

// start is the state in which nothing has happened.
func (m *model) start() state {
	s := state{Faults: m.Faults}
	for n := range m.nodes() {
		s.N[n] = node{Up: 1, Inc: 1}
	}
	for i := range m.places() {
		s.P[i].Ops = m.Ops[i]
	}
	return s
}
