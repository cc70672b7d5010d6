package backendtest

import (
	"time"
)

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
