package backendtest

import (
	"time"

	"github.com/lockgw/lockgw/backend"
)

func renewKeeps(b *bench) {
	n := b.node("a")
	r := n.req()
	r.TTL = time.Second
	a := n.wantGranted(n.Acquire(n.ctx(), r))
	for range 4 {
		time.Sleep(400 * time.Millisecond)
		errs, err := n.Renew(n.ctx(), []backend.Renewal{{Name: name, Hold: a.Hold, TTL: time.Second}})
		if err != nil || errs[0] != nil {
			b.Fatalf("renew = %v, %v", errs, err)
		}
	}
	n.holds(a.Hold)
}

func renewFinal(b *bench) {
	n := b.node("a")
	r := n.req()
	r.TTL = time.Second
	a := n.wantGranted(n.Acquire(n.ctx(), r))
	time.Sleep(1100 * time.Millisecond)
	errs, err := n.Renew(n.ctx(), []backend.Renewal{{Name: name, Hold: a.Hold, TTL: time.Second}})
	if err != nil {
		b.Fatal(err)
	}
	b.is(errs[0], backend.ErrNotHeld)
	n.free()
}

func renewGrows(b *bench) {
	n := b.node("a")
	_, a := n.granted()
	errs, err := n.Renew(n.ctx(), []backend.Renewal{{Name: name, Hold: a.Hold, TTL: time.Second}})
	if err != nil || errs[0] != nil {
		b.Fatalf("renew = %v, %v", errs, err)
	}
	if st := n.status(); st.TTL < ttl-time.Second {
		b.Errorf("ttl = %v, want still about %v", st.TTL, ttl)
	}
}

func leaseEnds(b *bench) {
	n, m := b.node("a"), b.node("b")
	r := n.req()
	r.TTL = time.Second
	a := n.wantGranted(n.Acquire(n.ctx(), r))
	time.Sleep(1100 * time.Millisecond)
	n.free()
	_, got := m.granted()
	if got.Hold <= a.Hold {
		b.Errorf("fence %d after %d", got.Hold, a.Hold)
	}
}

func fencesRise(b *bench) {
	n := b.node("a")
	// The store's clock is a floor, so that a store which lost its counter goes on.
	top := backend.Fence(time.Now().Add(-time.Second).UnixMicro())
	for i := range 20 {
		r := n.req()
		if i == 10 {
			r.Floor = top + 1_000_000_000_000
			top = r.Floor
		}
		a := n.wantGranted(n.Acquire(n.ctx(), r))
		if a.Hold <= top {
			b.Fatalf("fence %d after %d", a.Hold, top)
		}
		top = a.Hold + backend.Fence(a.Turns) - 1
		n.give(a.Hold)
	}
}
