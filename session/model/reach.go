package model

// reach looks for a caller that waits at a running node and cannot be served any
// more: no sequence of steps that are progress ends its wait. So it finds waiters
// that only a fault or a newcomer could help.
func (x *search) reach() {
	back, from := x.reversed()
	for i := range x.places() {
		for c := range callers {
			x.stuck(i, c, back, from)
		}
	}
}

// reversed is the progress steps by their ends: those that lead to state i begin
// in from[back[i]:back[i+1]].
func (x *search) reversed() (back []int, from []int32) {
	back = make([]int, len(x.states)+1)
	for _, t := range x.to {
		back[t+1]++
	}
	for i := 1; i < len(back); i++ {
		back[i] += back[i-1]
	}
	from = make([]int32, len(x.to))
	fill := append([]int(nil), back...)
	for i := range x.states {
		for _, t := range x.to[x.first[i]:x.first[i+1]] {
			from[fill[t]] = int32(i)
			fill[t]++
		}
	}
	return back, from
}

func (x *search) stuck(i int8, c int, back []int, from []int32) {
	served := make([]bool, len(x.states))
	var todo []int32
	for id := range x.states {
		s := &x.states[id]
		if w := s.P[i].Client[c]; s.Broken != 0 || w != waits && w != retries {
			served[id] = true
			todo = append(todo, int32(id))
		}
	}
	for len(todo) > 0 {
		id := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, p := range from[back[id]:back[id+1]] {
			if !served[p] {
				served[p] = true
				todo = append(todo, p)
			}
		}
	}
	for id := range x.states {
		if !served[id] && x.runs(&x.states[id], i) {
			x.note(Stuck, int32(id))
			return
		}
	}
}
