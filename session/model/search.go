package model

import "hash/maphash"

// Result of a search.
type Result struct {
	States, Steps int
	Full          bool // every state was visited
	// Traces to the first state in which each property is broken.
	Traces map[Property][]string
}

// Check visits the states of an instance under rules, at most limit of them. With
// stop it ends at the first broken property among them.
func Check(r Rules, in Instance, limit int, stop Property) Result {
	x := &search{model: &model{r, in}, seed: maphash.MakeSeed(), ids: map[uint64]int32{}, found: map[Property]int32{}}
	return x.run(limit, stop)
}

// search is the states visited, in the order of their discovery. A state is found
// by its hash; chain leads to others of the same hash.
type search struct {
	*model
	seed   maphash.Seed
	ids    map[uint64]int32 // + 1
	states []state
	chain  []int32 // + 1
	parent []int32
	first  []int   // first[i]: where the steps of state i begin in to
	to     []int32 // ends of the steps that are progress
	steps  int
	found  map[Property]int32
}

func (x *search) run(limit int, stop Property) Result {
	s := x.start()
	x.add(&s, -1)
	full := true
	for i := 0; i < len(x.states); i++ { //nolint:intrange // it grows meanwhile
		if x.over(limit, stop) {
			full = false
			break
		}
		x.first = append(x.first, len(x.to))
		if s := x.states[i]; s.Broken == 0 {
			x.next(&s, func(t *state, _ label, e edge) {
				x.steps++
				id := x.add(t, int32(i))
				if e == progress {
					x.to = append(x.to, id)
				}
			})
		}
	}
	x.first = append(x.first, len(x.to))
	if full {
		x.reach()
	}
	return x.result(full)
}

func (x *search) over(limit int, stop Property) bool {
	for p := range x.found {
		if p&stop != 0 {
			return true
		}
	}
	return len(x.states) > limit
}

// add returns the number of s, which was reached from the state numbered parent.
func (x *search) add(s *state, parent int32) int32 {
	h := maphash.Comparable(x.seed, *s)
	head := x.ids[h]
	for id := head; id != 0; id = x.chain[id-1] {
		if x.states[id-1] == *s {
			return id - 1
		}
	}
	id := int32(len(x.states))
	x.states = append(x.states, *s)
	x.chain = append(x.chain, head)
	x.parent = append(x.parent, parent)
	x.ids[h] = id + 1
	x.note(s.Broken, id)
	return id
}

// note keeps the first state in which each property is broken.
func (x *search) note(p Property, id int32) {
	for b := range propertyNames {
		if one := p & (1 << b); one != 0 {
			if _, ok := x.found[one]; !ok {
				x.found[one] = id
			}
		}
	}
}

func (x *search) result(full bool) Result {
	r := Result{States: len(x.states), Steps: x.steps, Full: full, Traces: map[Property][]string{}}
	for p, id := range x.found {
		r.Traces[p] = x.trace(id)
	}
	return r
}
