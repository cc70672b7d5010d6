package backendtest

import (
	"github.com/lockgw/lockgw/backend"
)

func (n *node) breaks(turn backend.Fence) (backend.Answer, error) {
	r := n.req()
	r.Turn = turn
	return n.Break(n.ctx(), r)
}

func breakTakes(b *bench) {
	n, m, admin := b.node("a"), b.node("b"), b.node("c")
	_, a := n.granted()
	m.queued()
	got, err := admin.breaks(n.status().Turn)
	if err != nil || got.Provisional != admin.Info().Queue {
		b.Fatalf("break = %+v, %v, want the name passed on", got, err)
	}
	if h := n.hears(backend.HintBroken); h.Name != name || h.Fence != a.Hold {
		b.Errorf("hint %+v, want of hold %d", h, a.Hold)
	}
	if next := m.confirmed(); next.Hold <= a.Hold {
		b.Errorf("next hold %d after %d", next.Hold, a.Hold)
	}
	errs, err := n.Renew(n.ctx(), []backend.Renewal{{Name: name, Hold: a.Hold, TTL: ttl}})
	if err != nil {
		b.Fatal(err)
	}
	b.is(errs[0], backend.ErrNotHeld)
}

func breakRefuses(b *bench) {
	n, admin := b.node("a"), b.node("c")
	_, err := admin.breaks(1)
	b.is(err, backend.ErrNotHeld)
	_, a := n.granted()
	r := n.req()
	r.Hold, r.Turn, r.Count = a.Hold, a.Hold+1, 1
	b.is(n.Describe(n.ctx(), r), nil)
	for _, f := range []backend.Fence{0, a.Hold, a.Hold + 2} {
		_, err := admin.breaks(f)
		b.is(err, backend.ErrFence)
	}
	n.holds(a.Hold)
	if _, err := admin.breaks(a.Hold + 1); err != nil {
		b.Errorf("break of the present turn: %v", err)
	}
	if st := n.status(); st.Held {
		b.Errorf("status = %+v, want free", st)
	}
}
