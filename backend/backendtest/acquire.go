package backendtest

import (
	"errors"
	"time"

	"github.com/lockgw/lockgw/backend"
)

func grantsFree(b *bench) {
	n := b.node("a")
	r, a := n.granted()
	if a.Hold == 0 || a.Block != a.Hold || a.Turns != r.Turns || a.Others {
		b.Errorf("answer = %+v, want a hold and a block of %d", a, r.Turns)
	}
	st := n.status()
	if !st.Held || st.Foreign || st.Owner != r.Owner || st.Count != 1 || st.Node != "a" || st.Hold != a.Hold || st.Record != r.Record {
		b.Errorf("status = %+v, want the hold of %s", st, r.Owner)
	}
	if st.TTL <= ttl-time.Second || st.TTL > ttl {
		b.Errorf("ttl = %v, want about %v", st.TTL, ttl)
	}
}

func refusesHeld(b *bench) {
	n, m := b.node("a"), b.node("b")
	r, a := n.granted()
	try := m.req()
	try.Queue = false
	got, err := m.Acquire(m.ctx(), try)
	b.is(err, backend.ErrHeld)
	if got.Holder.Owner != r.Owner || got.Holder.Hold != a.Hold || got.Holder.Record != r.Record || got.Wait <= 0 || got.Wait > ttl {
		b.Errorf("answer = %+v, want the holder and the rest of its lease", got)
	}
	n.give(a.Hold)
	m.silent() // it did not queue
	n.free()
}

func repeatGrantsSame(b *bench) {
	n := b.node("a")
	r, a := n.granted()
	again := n.wantGranted(n.Acquire(n.ctx(), r))
	if again.Hold != a.Hold || again.Block != a.Block {
		b.Errorf("repeat = %+v, want %+v", again, a)
	}
	if st := n.status(); st.Count != 1 {
		b.Errorf("count = %d after a repeat, want 1", st.Count)
	}
}

func repeatRearms(b *bench) {
	n := b.node("a")
	r, a := n.granted()
	time.Sleep(1200 * time.Millisecond)
	n.wantGranted(n.Acquire(n.ctx(), r))
	if st := n.status(); st.Hold != a.Hold || st.TTL < ttl-time.Second {
		b.Errorf("status = %+v, want the lease anew", st)
	}
}

func laterDropsLeftover(b *bench) {
	n := b.node("a")
	_, a := n.granted()
	_, again := n.granted()
	if again.Hold < a.Hold+backend.Fence(a.Turns) {
		b.Errorf("hold %d after %d with %d turns, want a new block", again.Hold, a.Hold, a.Turns)
	}
	r := n.req()
	r.Hold = a.Hold
	_, err := n.Confirm(n.ctx(), r)
	b.is(err, backend.ErrNotHeld)
	errs, err := n.Renew(n.ctx(), []backend.Renewal{{Name: name, Hold: a.Hold, TTL: ttl}})
	b.is(errors.Join(err, errs[0]), backend.ErrNotHeld)
	n.give(a.Hold)
	n.holds(again.Hold)
}

// noFenceIsLeft: larger numbers are not exact, and two grants would have the same.
func noFenceIsLeft(b *bench) {
	n := b.node("a")
	r := n.req()
	r.Floor = backend.MaxFence
	if _, err := n.Acquire(n.ctx(), r); !errors.Is(err, backend.ErrRefused) || errors.Is(err, backend.ErrUnreachable) {
		b.Errorf("after the last fence: %v, want a refusal", err)
	}
	_, a := n.granted()
	if a.Hold > backend.MaxFence/2 {
		b.Errorf("fence %d, want one by the clock: what was refused leaves nothing", a.Hold)
	}
	r = n.req()
	r.Hold, r.Block, r.Floor = a.Hold, a.Block, backend.MaxFence
	if x, err := n.Extend(n.ctx(), r); err == nil {
		b.Errorf("a block after the last fence: %+v, want none", x)
	}
	n.holds(a.Hold)
}

func refusesOvertaken(b *bench) {
	n := b.node("a")
	r, a := n.granted()
	n.give(a.Hold)
	_, err := n.Acquire(n.ctx(), r)
	b.is(err, backend.ErrStale)
	n.free()
	rel := r
	rel.Hold = a.Hold
	_, err = n.Release(n.ctx(), rel)
	b.is(err, backend.ErrStale)
	_, err = n.Extend(n.ctx(), rel)
	b.is(err, backend.ErrStale)
	b.is(n.Cancel(n.ctx(), rel), backend.ErrStale)
}

func refusesEarlierIncarnation(b *bench) {
	old := b.incarnation("a", 1)
	_, a := old.granted()
	old.give(a.Hold)
	n := b.incarnation("a", 2)
	_, a2 := n.granted()
	old.seq += 100
	r := old.req()
	_, err := old.Acquire(old.ctx(), r)
	b.is(err, backend.ErrStale)
	n.holds(a2.Hold)
}

func refusesUnknownHold(b *bench) {
	n, m := b.node("a"), b.node("b")
	_, a := n.granted()
	r := m.req()
	r.Hold, r.Block = a.Hold, a.Block
	_, err := m.Confirm(m.ctx(), r)
	b.is(err, backend.ErrNotHeld)
	_, err = m.Extend(m.ctx(), r)
	b.is(err, backend.ErrNotHeld)
	b.is(m.Describe(m.ctx(), r), backend.ErrNotHeld)
	errs, err := m.Renew(m.ctx(), []backend.Renewal{{Name: name, Hold: a.Hold, TTL: ttl}, {Name: "nothing", Hold: 1, TTL: ttl}})
	if err != nil || len(errs) != 2 {
		b.Fatalf("renew = %v, %v", errs, err)
	}
	b.is(errs[0], backend.ErrNotHeld)
	b.is(errs[1], backend.ErrNotHeld)
	m.give(a.Hold)
	if err := m.Cancel(m.ctx(), m.req()); err != nil {
		b.Errorf("cancel of nothing: %v", err)
	}
	n.holds(a.Hold)
}
