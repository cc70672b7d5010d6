package model

import (
	"hash/maphash"
	"slices"
)

// Result of an exploration.
type Result struct {
	States, Steps int
	// Whole: every reachable state was visited.
	Whole bool
	// Bad names what must never be and was found; Trace is a shortest way to it.
	Bad   string
	Trace []string
}

// Explore visits the states of in, at most limit of them, breadth first, until one is
// broken. If it visited all it also looks for one from which a waiting caller cannot be
// served by progress alone.
func Explore(in Instance, limit int) Result {
	x := &explorer{seen: map[[2]uint64]int32{}, seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}}
	x.add(newWorld(&in), -1, 0)
	r := Result{Whole: true}
	for i := 0; i < len(x.states); i++ { //nolint:intrange // states are added meanwhile
		if i >= limit {
			r.Whole = false
			break
		}
		w, known := x.world(&in, int32(i)), len(x.states)
		for k, a := range w.actions() {
			next := w.clone()
			a.do(next)
			next.check()
			r.Steps++
			id, isNew := x.add(next, int32(i), int32(k))
			if a.progress {
				x.from, x.to = append(x.from, int32(i)), append(x.to, id)
			}
			if isNew && next.bad != "" {
				r.States, r.Bad, r.Trace = len(x.states), next.bad, x.trace(&in, id)
				return r
			}
		}
		if len(x.states) > known {
			x.states[i].w = w
		}
	}
	r.States = len(x.states)
	if r.Whole {
		if what, id := x.stuck(&in); id >= 0 {
			r.Bad, r.Trace = what, x.trace(&in, id)
		}
	}
	return r
}

type explorer struct {
	seen     map[[2]uint64]int32
	seeds    [2]maphash.Seed
	states   []visited
	from, to []int32 // progress
	buf      []byte
}

// visited keeps its world, which takes far more memory than the rest, only from when it is
// looked at until those that were first reached from it are.
type visited struct {
	w      *world
	parent int32
	action int32
	waits  uint32 // clients that wait at a running node; and unrest
}

// unrest: something is under way or due.
const unrest = 31

func (x *explorer) add(w *world, parent, action int32) (int32, bool) {
	x.buf = w.key(x.buf[:0])
	k := [2]uint64{maphash.Bytes(x.seeds[0], x.buf), maphash.Bytes(x.seeds[1], x.buf)}
	if id, ok := x.seen[k]; ok {
		return id, false
	}
	id := int32(len(x.states))
	x.seen[k] = id
	x.states = append(x.states, visited{nil, parent, action, w.waiting()})
	return id, true
}

// world makes that of the state id, which is called for one after the other.
func (x *explorer) world(in *Instance, id int32) *world {
	s := x.states[id]
	if s.parent < 0 {
		return newWorld(in)
	}
	parent := &x.states[s.parent]
	w := parent.w.after(s.action)
	if next := int(id) + 1; next == len(x.states) || x.states[next].parent != s.parent {
		parent.w = nil
	}
	return w
}

// after is what becomes of w by one of its actions.
func (w *world) after(action int32) *world {
	a, next := w.actions()[action], w.clone()
	a.do(next)
	next.check()
	return next
}

func (w *world) waiting() (b uint32) {
	bit := 0
	for i := range w.nodes {
		for _, c := range w.nodes[i].clients {
			if (c.state == waits || c.state == retries) && w.nodes[i].process == up {
				b |= 1 << bit
			}
			bit++
		}
	}
	if w.busy() {
		b |= 1 << unrest
	}
	return b
}

// trace runs the way to the state id once more.
func (x *explorer) trace(in *Instance, id int32) []string {
	var way []int32
	for ; x.states[id].parent >= 0; id = x.states[id].parent {
		way = append(way, x.states[id].action)
	}
	var out []string
	w := newWorld(in)
	for _, k := range slices.Backward(way) {
		out = append(out, w.actions()[k].String())
		w = w.after(k)
	}
	return out
}

// stuck finds a state in which a caller waits at a running node, or something is under
// way, and from which no progress leads to one in which that is not so.
func (x *explorer) stuck(in *Instance) (what string, id int32) {
	back := make([]int32, len(x.states)+1)
	for _, t := range x.to {
		back[t+1]++
	}
	for i := 1; i < len(back); i++ {
		back[i] += back[i-1]
	}
	from, fill := make([]int32, len(x.to)), slices.Clone(back)
	for e, t := range x.to {
		from[fill[t]] = x.from[e]
		fill[t]++
	}
	bits := []int{unrest}
	for _, c := range in.Callers {
		for range c {
			bits = append(bits, len(bits)-1)
		}
	}
	for _, bit := range bits {
		good := make([]bool, len(x.states))
		var todo []int32
		for i := range x.states {
			if x.states[i].waits&(1<<bit) == 0 {
				good[i] = true
				todo = append(todo, int32(i))
			}
		}
		for len(todo) > 0 {
			s := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			for _, p := range from[back[s]:back[s+1]] {
				if !good[p] {
					good[p] = true
					todo = append(todo, p)
				}
			}
		}
		if i := slices.Index(good, false); i >= 0 {
			if bit == unrest {
				return "never at rest", int32(i)
			}
			return "waiter stuck", int32(i)
		}
	}
	return "", -1
}
