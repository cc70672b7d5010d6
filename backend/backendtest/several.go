package backendtest

import (
	"fmt"

	"github.com/lockgw/lockgw/backend"
)

// severalAreTold: those who hold a name together are told, the first of them.
func severalAreTold(b *bench) {
	n, m := b.node("a"), b.node("b")
	if st := n.status(); len(st.Several) != 0 {
		b.Errorf("several = %+v of a free name, want none", st.Several)
	}
	const more = 3
	var all []backend.Request
	for i := range backend.MaxSeveral + more {
		at := []*node{n, m}[i%2]
		r := at.in(100, fmt.Sprint(i))
		r.Record = fmt.Sprintf(`{"i": %d}`, i)
		a := at.wantGranted(at.Acquire(at.ctx(), r))
		r.Hold = a.Hold
		all = append(all, r)
	}
	n.drop(all[0], all[0].Hold)
	all = all[1:]
	st := m.status()
	if len(st.Several) == 0 && !n.Info().Queue {
		return
	}
	if len(st.Several) != backend.MaxSeveral || st.Holders != backend.MaxSeveral+more-1 {
		b.Fatalf("status = %+v, want the first %d of %d", st, backend.MaxSeveral, backend.MaxSeveral+more-1)
	}
	for i, h := range st.Several {
		want := backend.Holding{Owner: all[i].Owner, Count: 1, Node: []string{"b", "a"}[i%2], Fence: all[i].Hold, TTL: h.TTL, Record: all[i].Record}
		if h != want || h.TTL <= 0 || h.TTL > ttl {
			b.Errorf("holder %d = %+v, want %+v with at most %v left", i, h, want, ttl)
		}
	}
}

// oneIsNotSeveral: whoever holds a name alone is in Status itself.
func oneIsNotSeveral(b *bench) {
	n := b.node("a")
	n.granted()
	if st := n.status(); !st.Held || len(st.Several) != 0 {
		b.Errorf("status = %+v, want no others of an exclusive hold", st)
	}
}
