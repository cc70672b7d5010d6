package backendtest

import (
	"errors"
	"fmt"
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

func lateRelease(b *bench) {
	n, m := b.node("a"), b.node("b")
	_, a := n.granted()
	m.queued()
	n.give(a.Hold)
	c := m.confirmed()
	n.give(a.Hold)
	m.give(a.Hold)
	m.holds(c.Hold)
}

func lateAcquireIsWithdrawn(b *bench) {
	n, m := b.node("a"), b.node("b")
	r := n.req()
	r.TTL = time.Second
	a := n.wantGranted(n.Acquire(n.ctx(), r))
	time.Sleep(1100 * time.Millisecond)
	late := n.wantGranted(n.Acquire(n.ctx(), r)) // its first sending, say, when the lease is over
	rel := n.req()
	rel.Hold, rel.Attempt, rel.Queue = a.Hold, r.Seq, false
	if _, err := n.Release(n.ctx(), rel); err != nil {
		b.Fatal(err)
	}
	n.free()
	if _, got := m.granted(); got.Hold <= late.Hold {
		b.Errorf("fence %d after %d", got.Hold, late.Hold)
	}
}

func repeatRelease(b *bench) {
	n := b.node("a")
	_, a := n.granted()
	r := n.req()
	r.Hold, r.Queue = a.Hold, false
	for range 3 {
		if _, err := n.Release(n.ctx(), r); err != nil {
			b.Fatalf("release: %v", err)
		}
	}
	n.free()
	n.granted()
}

func releaseQueues(b *bench) {
	n, m := b.node("a"), b.node("b")
	_, a := n.granted()
	r := n.req()
	r.Hold = a.Hold
	if again := n.wantGranted(n.Release(n.ctx(), r)); again.Hold <= a.Hold {
		b.Errorf("hold = %d after %d, want a new one", again.Hold, a.Hold)
	} else {
		a = again
	}
	m.queued()
	r = n.req()
	r.Hold = a.Hold
	n.wantQueued(n.Release(n.ctx(), r))
	c := m.confirmed()
	m.give(c.Hold)
	n.confirmed()
}

func repeatReleaseQueues(b *bench) {
	n := b.node("a")
	_, a := n.granted()
	r := n.req()
	r.Hold = a.Hold
	first := n.wantGranted(n.Release(n.ctx(), r))
	if again := n.wantGranted(n.Release(n.ctx(), r)); again.Hold != first.Hold {
		b.Errorf("hold = %d, want %d again", again.Hold, first.Hold)
	}
}

func extendReserves(b *bench) {
	n := b.node("a")
	_, a := n.granted()
	r := n.req()
	r.Hold, r.Block, r.Floor = a.Hold, a.Block, a.Hold+1_000_000_000
	x := n.wantGranted(n.Extend(n.ctx(), r))
	if x.Hold != a.Hold || x.Block <= r.Floor || x.Turns != r.Turns {
		b.Errorf("extend = %+v, want the same hold and a block above %d", x, r.Floor)
	}
	n.holds(a.Hold)
}

func repeatExtend(b *bench) {
	n := b.node("a")
	_, a := n.granted()
	r := n.req()
	r.Hold, r.Block = a.Hold, a.Block
	x := n.wantGranted(n.Extend(n.ctx(), r))
	if again := n.wantGranted(n.Extend(n.ctx(), r)); again.Block != x.Block {
		b.Errorf("block = %d, want %d again", again.Block, x.Block)
	}
}

func extendYields(b *bench) {
	n, m := b.node("a"), b.node("b")
	_, a := n.granted()
	m.queued()
	r := n.req()
	r.Hold, r.Block = a.Hold, a.Block
	n.wantQueued(n.Extend(n.ctx(), r))
	c := m.confirmed()
	m.give(c.Hold)
	if n.confirmed().Hold <= c.Hold {
		b.Error("a smaller fence after a larger one")
	}
}

func repeatExtendYield(b *bench) {
	n, m := b.node("a"), b.node("b")
	_, a := n.granted()
	m.queued()
	r := n.req()
	r.Hold, r.Block = a.Hold, a.Block
	n.wantQueued(n.Extend(n.ctx(), r))
	c := m.confirmed()
	n.wantQueued(n.Extend(n.ctx(), r))
	m.holds(c.Hold)
	m.give(c.Hold)
	got := n.confirmed()
	if again := n.wantGranted(n.Extend(n.ctx(), r)); again.Hold != got.Hold {
		b.Errorf("hold = %d, want %d", again.Hold, got.Hold)
	}
}

func prefetchTells(b *bench) {
	n, m := b.node("a"), b.node("b")
	_, a := n.granted()
	m.queued()
	r := n.req()
	r.Hold, r.Block, r.Queue = a.Hold, a.Block, false
	x, err := n.Extend(n.ctx(), r)
	if err != nil || x.Granted || x.Queued || !x.Others {
		b.Errorf("extend = %+v, %v, want only that others wait", x, err)
	}
	n.holds(a.Hold)
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

func delayKeeps(b *bench) {
	n, m := b.node("a"), b.node("b")
	_, a := n.granted()
	m.queued()
	r := n.req()
	r.Hold, r.Delay, r.Queue = a.Hold, time.Second, false
	if _, err := n.Release(n.ctx(), r); err != nil {
		b.Fatal(err)
	}
	m.silent()
	again := n.wantQueued(n.Acquire(n.ctx(), n.req()))
	if again.Wait <= 0 || again.Wait > time.Second {
		b.Errorf("wait = %v, want the delay", again.Wait)
	}
	time.Sleep(again.Wait + 50*time.Millisecond)
	if _, err := n.Promote(n.ctx(), name); err != nil {
		b.Fatal(err)
	}
	if !n.Info().Queue { // who waits has a timer
		m.asksAgain()
		return
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
