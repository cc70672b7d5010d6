package backendtest

func describeTells(b *bench) {
	n := b.node("a")
	first, a := n.granted()
	late := n.req()
	r := n.req()
	r.Hold, r.Turn, r.Count, r.Owner, r.Record = a.Hold, a.Hold+2, 3, "other:7", "who"
	if err := n.Describe(n.ctx(), r); err != nil {
		b.Fatal(err)
	}
	late.Hold, late.Turn, late.Owner = a.Hold, a.Hold+2, "late:1"
	if err := n.Describe(n.ctx(), late); err != nil {
		b.Fatal(err)
	}
	n.wantGranted(n.Acquire(n.ctx(), first)) // a repeat
	x := n.req()
	x.Hold, x.Block = a.Hold, a.Block
	n.wantGranted(n.Extend(n.ctx(), x))
	st := n.status()
	if st.Owner != "other:7" || st.Count != 3 || st.Turn != a.Hold+2 || st.Record != "who" || st.Hold != a.Hold {
		b.Errorf("status = %+v, want what was described", st)
	}
	if st.TTL <= 0 || st.TTL > ttl {
		b.Errorf("ttl = %v, want the lease as it was", st.TTL)
	}
	n.give(a.Hold)
	n.free()
}

func inspectTop(b *bench) {
	n := b.node("a")
	_, a := n.granted()
	r := n.req()
	r.Hold, r.Turn, r.Queue = a.Hold, a.Hold+2, false
	if _, err := n.Release(n.ctx(), r); err != nil {
		b.Fatal(err)
	}
	if st := n.status(); st.Top != a.Hold+2 {
		b.Errorf("top = %d, want the last turn, %d", st.Top, a.Hold+2)
	}
	_, a2 := n.granted()
	if st := n.status(); st.Turn != a2.Hold || st.Top < a2.Hold {
		b.Errorf("status = %+v, want turn %d", st, a2.Hold)
	}
}

func listPrefix(b *bench) {
	n := b.node("a")
	want := map[string]bool{}
	for _, x := range []string{"p/1", "p/2", "p/{t}", "{p/3}", "q*1", "q?1"} {
		r := n.req()
		r.Name = x
		n.wantGranted(n.Acquire(n.ctx(), r))
		want[x] = true
	}
	for prefix, count := range map[string]int{"": 6, "p/": 3, "q*": 1, "{": 1, "nothing": 0} {
		got, next := map[string]bool{}, ""
		for {
			page, more, err := n.List(n.ctx(), prefix, next, 2)
			if err != nil {
				b.Fatal(err)
			}
			for _, st := range page {
				if !want[st.Name] || !st.Held {
					b.Errorf("listed %+v", st)
				}
				got[st.Name] = true
			}
			if next = more; next == "" {
				break
			}
		}
		if len(got) != count {
			b.Errorf("prefix %q: %v, want %d names", prefix, got, count)
		}
	}
}
