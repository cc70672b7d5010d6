package backendtest

import (
	"fmt"
	"time"

	"github.com/lockgw/lockgw/backend"
)

func releasePasses(b *bench) {
	n, m := b.node("a"), b.node("b")
	_, a := n.granted()
	m.queued()
	done := n.give(a.Hold)
	if !done.Provisional || done.Wait <= 0 || done.Wait > 2*time.Second {
		b.Errorf("release = %+v, want that the name was passed on", done)
	}
	h := m.hears(backend.HintGranted)
	if h.Name != name || h.Fence <= a.Hold {
		b.Errorf("hint = %+v, want a larger fence than %d", h, a.Hold)
	}
	m.holds(h.Fence)
}

func confirmLeases(b *bench) {
	n, m := b.node("a"), b.node("b")
	_, a := n.granted()
	m.queued()
	n.give(a.Hold)
	c := m.confirmed()
	if st := m.status(); st.TTL < ttl-time.Second || st.Waiters != 0 || st.Hold != c.Hold {
		b.Errorf("status = %+v, want a lease of %v and an empty queue", st, ttl)
	}
}

func provisionalEnds(b *bench) {
	n, m := b.node("a"), b.node("b")
	_, a := n.granted()
	m.queued()
	n.give(a.Hold)
	h := m.hears(backend.HintGranted)
	time.Sleep(1300 * time.Millisecond)
	n.free()
	r := m.req()
	r.Hold = h.Fence
	_, err := m.Confirm(m.ctx(), r)
	b.is(err, backend.ErrNotHeld)
	if m.status().Waiters != 1 {
		b.Error("it lost its place, too")
	}
}

func askAgainTakesProvisional(b *bench) {
	n, m := b.node("a"), b.node("b")
	_, a := n.granted()
	r := m.queued()
	n.give(a.Hold)
	h := m.hears(backend.HintGranted)
	again := m.wantGranted(m.Acquire(m.ctx(), r))
	if again.Hold != h.Fence {
		b.Errorf("hold = %d, want the provisional one, %d", again.Hold, h.Fence)
	}
	if st := m.status(); st.TTL < ttl-time.Second {
		b.Errorf("ttl = %v, want a lease", st.TTL)
	}
}

func suspectsLast(b *bench) {
	n, m, o := b.node("a"), b.node("b"), b.node("c")
	_, a := n.granted()
	m.queued()
	o.queued()
	n.give(a.Hold)
	m.hears(backend.HintGranted) // and does not confirm
	time.Sleep(1200 * time.Millisecond)
	if got, err := n.Promote(n.ctx(), name); err != nil || !got.Provisional {
		b.Fatalf("promote = %+v, %v, want passed on", got, err)
	}
	c := o.confirmed()
	m.silent()
	o.give(c.Hold)
	m.confirmed() // it has kept its ticket
}

func firstInFirstOut(b *bench) {
	n := b.node("0")
	_, a := n.granted()
	var others []*node
	for i := range 5 {
		o := b.node(fmt.Sprint(i + 1))
		o.queued()
		others = append(others, o)
	}
	n.give(a.Hold)
	for i, o := range others {
		c := o.confirmed()
		for _, later := range others[i+1:] {
			select {
			case h := <-later.hints:
				if h.Kind == backend.HintGranted {
					b.Fatalf("%d-th: a later one was granted: %+v", i, h)
				}
			default:
			}
		}
		o.give(c.Hold)
	}
	n.free()
}

func keepsPlace(b *bench) {
	n, m, o := b.node("a"), b.node("b"), b.node("c")
	_, a := n.granted()
	r := m.queued()
	o.queued()
	m.wantQueued(m.Acquire(m.ctx(), r))
	m.queued() // by a new number, too
	if w := m.status().Waiters; w != 2 {
		b.Errorf("waiters = %d, want 2", w)
	}
	n.give(a.Hold)
	m.confirmed()
	o.silent()
}

func noBarging(b *bench) {
	n, m, o := b.node("a"), b.node("b"), b.node("c")
	r := n.req()
	r.TTL = time.Second
	n.wantGranted(n.Acquire(n.ctx(), r))
	m.queued()
	time.Sleep(1100 * time.Millisecond) // the lease ends, and no script runs
	o.queued()
	m.confirmed()
	o.silent()
}

func passesOverGone(b *bench) {
	n, m, o := b.node("a"), b.node("b"), b.node("c")
	_, a := n.granted()
	m.queued()
	o.queued()
	if err := m.Close(); err != nil {
		b.Fatal(err)
	}
	n.give(a.Hold)
	o.confirmed()
}

func holderHears(b *bench) {
	n, m := b.node("a"), b.node("b")
	n.granted()
	m.queued()
	if h := n.hears(backend.HintOthers); h.Name != name {
		b.Errorf("hint = %+v, want one about %s", h, name)
	}
}

func secondHears(b *bench) {
	n, m, o := b.node("a"), b.node("b"), b.node("c")
	_, a := n.granted()
	m.queued()
	o.queued()
	n.give(a.Hold)
	if h := o.hears(backend.HintWatch); h.Name != name || h.After <= 0 {
		b.Errorf("hint = %+v, want when to look after %s", h, name)
	}
}

func cancelLeaves(b *bench) {
	n, m := b.node("a"), b.node("b")
	_, a := n.granted()
	q := m.queued()
	r := m.req()
	r.Attempt = q.Seq
	if err := m.Cancel(m.ctx(), r); err != nil {
		b.Fatal(err)
	}
	if w := m.status().Waiters; w != 0 {
		b.Errorf("waiters = %d, want 0", w)
	}
	n.give(a.Hold)
	m.silent()
}

func cancelReleases(b *bench) {
	n, m, o := b.node("a"), b.node("b"), b.node("c")
	_, a := n.granted()
	q := m.queued()
	o.queued()
	n.give(a.Hold)
	m.hears(backend.HintGranted)
	r := m.req()
	r.Attempt = q.Seq
	for range 2 {
		if err := m.Cancel(m.ctx(), r); err != nil {
			b.Fatal(err)
		}
	}
	c := o.confirmed()
	o.give(c.Hold)
	m.silent()
	n.free()
}

func cancelOnlyItsAttempt(b *bench) {
	n, m := b.node("a"), b.node("b")
	_, a := n.granted()
	q := m.queued()
	later := m.queued()
	r := m.req()
	r.Attempt, r.Hold = q.Seq, a.Hold
	if err := m.Cancel(m.ctx(), r); err != nil {
		b.Fatal(err)
	}
	if w := m.status().Waiters; w != 1 {
		b.Errorf("waiters = %d, want the later attempt, %d", w, later.Seq)
	}
	n.holds(a.Hold)
}

func promoteServes(b *bench) {
	n, m := b.node("a"), b.node("b")
	r := n.req()
	r.TTL = time.Second
	n.wantGranted(n.Acquire(n.ctx(), r))
	m.queued()
	if got, err := n.Promote(n.ctx(), name); err != nil || got.Provisional {
		b.Fatalf("promote of a held name = %+v, %v, want nothing", got, err)
	}
	time.Sleep(1100 * time.Millisecond)
	if got, err := n.Promote(n.ctx(), name); err != nil || !got.Provisional {
		b.Fatalf("promote = %+v, %v, want passed on", got, err)
	}
	m.confirmed()
}

func slotsContend(b *bench) {
	n := b.node("a")
	slot := func(s string, r backend.Request) backend.Request { r.Slot = s; return r }
	first := slot("1", n.req())
	a := n.wantGranted(n.Acquire(n.ctx(), first))
	second, third := slot("2", n.req()), slot("3", n.req())
	n.wantQueued(n.Acquire(n.ctx(), second))
	n.wantQueued(n.Acquire(n.ctx(), third))
	n.holds(a.Hold)
	r := slot("1", n.req())
	r.Hold, r.Queue = a.Hold, false
	if _, err := n.Release(n.ctx(), r); err != nil {
		b.Fatal(err)
	}
	if h := n.hears(backend.HintGranted); h.Slot != "2" {
		b.Errorf("hint = %+v, want slot 2", h)
	}
	n.wantGranted(n.Acquire(n.ctx(), second)) // its number is lower than others' of the node
}
