package backendtest

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
)

// modes are the cases of stores whose Info has Modes.
var modes = []testCase{
	{"shared holds are held at the same time", sharedTogether},
	{"each of several holds is renewed, described and released by itself", sharesApart},
	{"each of several holds ends with its own lease", sharesEndApart},
	{"a repeated acquire grants the same shared hold", repeatShared},
	{"an exclusive waiter waits for all shared holds", exclusiveAfterShared},
	{"nobody shares past an exclusive waiter", sharedBehindExclusive},
	{"shared waiters are served together", sharedServedTogether},
	{"a semaphore holds as many as its size", semaphoreCounts},
	{"a permit of a semaphore ends with its lease", permitEnds},
	{"a waiter that is gone keeps nobody from a semaphore", goneBeforeSemaphore},
	{"a name is of one kind at a time", kindsClash},
	{"break ends one of several holds", breakOne},
	{"a delay keeps the place of one of several holds", delayOfOne},
	{"cancel gives back one of several holds", cancelShare},
	{"reclaim adopts one of several holds", reclaimShare},
	{"an overtaken number is refused after another contender of the node has asked", overtakenBesideSlots},
}

// modeQueueCases are of those that keep a queue, too.
var modeQueueCases = []testCase{
	{"nobody overtakes while a grant is not confirmed yet", orderWhileProvisional},
	{"who speaks for a node comes before those of the node by themselves", nodeBeforeItsSlots},
	{"a waiter's kind counts as well", kindOfWaiters},
	{"a waiter that is gone has no kind", kindOfGone},
	{"a waiter hears how many are ahead", aheadCounts},
	{"several holders are told", severalAreTold},
	{"an exclusive holder is not several", oneIsNotSeveral},
}

func runModes(t *testing.T, open func(t *testing.T) Store) {
	all := modes
	b := open(t)(t, backend.Node{ID: "a", Incarnation: 1})
	if !b.Info().Modes {
		r := backend.Request{Name: name, Seq: 1, Owner: "o:1", TTL: ttl, Turns: 1, Mode: backend.Shared}
		if _, err := b.Acquire(t.Context(), r); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("shared acquire = %v, want %v of a store without modes", err, errors.ErrUnsupported)
		}
		return
	}
	if b.Info().Queue {
		all = slices.Concat(modes, modeQueueCases)
	}
	for _, c := range all {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(&bench{T: t, open: open(t)})
		})
	}
}

// in is a request for a hold of that mode, by a contender of its own.
func (n *node) in(m backend.Mode, slot string) backend.Request {
	r := n.req()
	r.Mode, r.Slot, r.Turns = m, slot, 1
	r.Owner = backend.Owner(fmt.Sprintf("owner-%p:%s", n, slot))
	return r
}

// share asks and fails unless granted.
func (n *node) share(m backend.Mode, slot string) (backend.Request, backend.Answer) {
	n.b.Helper()
	r := n.in(m, slot)
	return r, n.wantGranted(n.Acquire(n.ctx(), r))
}

// line asks and fails unless queued.
func (n *node) line(m backend.Mode, slot string) backend.Request {
	n.b.Helper()
	r := n.in(m, slot)
	n.wantQueued(n.Acquire(n.ctx(), r))
	return r
}

// drop releases the hold of r's contender.
func (n *node) drop(r backend.Request, hold backend.Fence) {
	n.b.Helper()
	rel := n.req()
	rel.Slot, rel.Hold, rel.Turn, rel.Queue = r.Slot, hold, hold, false
	if _, err := n.Release(n.ctx(), rel); err != nil {
		n.b.Fatalf("release: %v", err)
	}
}

// takes waits for a grant to r's contender and confirms it; without a queue it waits
// for the hint that the name is free and asks again.
func (n *node) takes(r backend.Request) backend.Answer {
	n.b.Helper()
	if !n.Info().Queue {
		for n.hears(backend.HintFree).Slot != r.Slot {
		}
		n.last = r
		return n.asksAgain()
	}
	h := n.hears(backend.HintGranted)
	if h.Slot != r.Slot {
		n.b.Fatalf("granted to %q, want %q", h.Slot, r.Slot)
	}
	c := n.req()
	c.Slot, c.Owner, c.Mode, c.Hold = r.Slot, r.Owner, r.Mode, h.Fence
	return n.wantGranted(n.Confirm(n.ctx(), c))
}

// wantHolders fails unless so many have the name in mode m.
func (n *node) wantHolders(m backend.Mode, want int) {
	n.b.Helper()
	if st := n.status(); !st.Held || st.Foreign || st.Mode != m || st.Holders != want {
		n.b.Fatalf("status = %+v, want %d holders in mode %d", st, want, m)
	}
}

func sharedTogether(b *bench) {
	n, m := b.node("a"), b.node("b")
	_, a1 := n.share(backend.Shared, "1")
	_, a2 := n.share(backend.Shared, "2")
	r3, a3 := m.share(backend.Shared, "1")
	if a1.Hold >= a2.Hold || a2.Hold >= a3.Hold {
		b.Errorf("fences %d, %d, %d, want them to rise", a1.Hold, a2.Hold, a3.Hold)
	}
	n.wantHolders(backend.Shared, 3)
	if st := n.status(); st.Hold != a3.Hold || st.Owner != r3.Owner || st.Node != "b" || st.Record != r3.Record || st.TTL <= 0 || st.TTL > ttl {
		b.Errorf("status = %+v, want the newest hold, of %s", st, r3.Owner)
	}
}

func sharesApart(b *bench) {
	n := b.node("a")
	r1, a1 := n.share(backend.Shared, "1")
	r2, a2 := n.share(backend.Shared, "2")
	d := n.in(backend.Shared, "2")
	d.Hold, d.Count, d.Turn, d.Record = a2.Hold, 3, a2.Hold, `{"y": 2}`
	if err := n.Describe(n.ctx(), d); err != nil {
		b.Fatal(err)
	}
	if st := n.status(); st.Count != 3 || st.Record != d.Record || st.Owner != r2.Owner {
		b.Errorf("status = %+v, want what was described", st)
	}
	renew := func(slot string, hold backend.Fence) error {
		errs, err := n.Renew(n.ctx(), []backend.Renewal{{Name: name, Slot: slot, Mode: backend.Shared, Hold: hold, TTL: 2 * ttl}})
		return errors.Join(err, errs[0])
	}
	if err := renew("2", a2.Hold); err != nil {
		b.Fatal(err)
	}
	if st := n.status(); st.TTL <= ttl {
		b.Errorf("ttl = %v after a renewal, want more than %v", st.TTL, ttl)
	}
	b.is(renew("2", a1.Hold), backend.ErrNotHeld)
	n.drop(r2, a1.Hold) // of another contender
	n.wantHolders(backend.Shared, 2)
	n.drop(r1, a1.Hold)
	b.is(renew("1", a1.Hold), backend.ErrNotHeld)
	n.wantHolders(backend.Shared, 1)
	n.drop(r2, a2.Hold)
	n.free()
}

func sharesEndApart(b *bench) {
	n, m := b.node("a"), b.node("b")
	for i, d := range []time.Duration{time.Second, ttl, time.Second} {
		r := n.in(backend.Shared, fmt.Sprint(i))
		r.TTL = d
		n.wantGranted(n.Acquire(n.ctx(), r))
	}
	time.Sleep(1100 * time.Millisecond)
	n.wantHolders(backend.Shared, 1)
	m.line(backend.Exclusive, "")
	n.wantHolders(backend.Shared, 1)
}

func repeatShared(b *bench) {
	n := b.node("a")
	r, a := n.share(backend.Shared, "1")
	n.share(backend.Shared, "2")
	if again := n.wantGranted(n.Acquire(n.ctx(), r)); again.Hold != a.Hold {
		b.Errorf("repeat = %+v, want hold %d", again, a.Hold)
	}
	n.wantHolders(backend.Shared, 2)
	later := n.in(backend.Shared, "1")
	if anew := n.wantGranted(n.Acquire(n.ctx(), later)); anew.Hold == a.Hold {
		b.Errorf("a later number got hold %d again, want a new one", anew.Hold)
	}
	n.wantHolders(backend.Shared, 2)
}

func exclusiveAfterShared(b *bench) {
	n, m := b.node("a"), b.node("b")
	r1, a1 := n.share(backend.Shared, "1")
	r2, a2 := n.share(backend.Shared, "2")
	w := m.line(backend.Exclusive, "")
	n.drop(r1, a1.Hold)
	m.silent()
	n.drop(r2, a2.Hold)
	got := m.takes(w)
	m.wantHolders(backend.Exclusive, 1)
	try := n.in(backend.Shared, "3")
	try.Queue = false
	_, err := n.Acquire(n.ctx(), try)
	b.is(err, backend.ErrHeld)
	m.drop(w, got.Hold)
	n.share(backend.Shared, "4")
}

func sharedBehindExclusive(b *bench) {
	n, m := b.node("a"), b.node("b")
	r1, a1 := n.share(backend.Shared, "1")
	w := m.line(backend.Exclusive, "")
	s := n.line(backend.Shared, "2")
	n.wantHolders(backend.Shared, 1)
	n.drop(r1, a1.Hold)
	got := m.takes(w)
	n.silent()
	m.drop(w, got.Hold)
	n.takes(s)
}

func orderWhileProvisional(b *bench) {
	n, m := b.node("a"), b.node("b")
	x, held := n.share(backend.Exclusive, "9")
	reader, writer := m.line(backend.Shared, "1"), m.line(backend.Exclusive, "2")
	late := n.line(backend.Shared, "3")
	n.drop(x, held.Hold)
	n.line(backend.Shared, "4") // has the store look again
	n.wantHolders(backend.Shared, 1)
	m.drop(reader, m.takes(reader).Hold)
	m.drop(writer, m.takes(writer).Hold)
	n.takes(late)
}

func nodeBeforeItsSlots(b *bench) {
	n, m := b.node("a"), b.node("b")
	_, held := n.share(backend.Exclusive, "")
	first, last := m.line(backend.Shared, "1"), n.line(backend.Shared, "2")
	r := n.in(backend.Exclusive, "")
	r.Hold, r.Turn = held.Hold, held.Hold
	n.wantQueued(n.Release(n.ctx(), r))
	m.drop(first, m.takes(first).Hold)
	n.drop(r, n.takes(r).Hold)
	n.takes(last)
}

func sharedServedTogether(b *bench) {
	n, m := b.node("a"), b.node("b")
	x, held := n.share(backend.Exclusive, "")
	s1, s2 := n.line(backend.Shared, "1"), m.line(backend.Shared, "1")
	w := m.line(backend.Exclusive, "2")
	s3 := n.line(backend.Shared, "3")
	n.drop(x, held.Hold)
	got1, got2 := n.takes(s1), m.takes(s2)
	n.wantHolders(backend.Shared, 2)
	n.silent()
	n.drop(s1, got1.Hold)
	m.drop(s2, got2.Hold)
	m.drop(w, m.takes(w).Hold)
	n.takes(s3)
}

func semaphoreCounts(b *bench) {
	n, m := b.node("a"), b.node("b")
	r1, a1 := n.share(2, "1")
	n.share(2, "2")
	w := m.line(2, "1")
	try := n.in(2, "3")
	try.Queue = false
	got, err := n.Acquire(n.ctx(), try)
	b.is(err, backend.ErrHeld)
	if got.Holder.Owner == "" || got.Wait <= 0 || got.Wait > ttl {
		b.Errorf("answer = %+v, want a holder and when the first permit ends", got)
	}
	n.wantHolders(2, 2)
	n.drop(r1, a1.Hold)
	m.takes(w)
	n.wantHolders(2, 2)
}

func permitEnds(b *bench) {
	n, m := b.node("a"), b.node("b")
	short := n.in(1, "1")
	short.TTL = time.Second
	n.wantGranted(n.Acquire(n.ctx(), short))
	w := m.line(1, "1")
	time.Sleep(1100 * time.Millisecond)
	m.wantGranted(m.Acquire(m.ctx(), w))
	n.wantHolders(1, 1)
}

func goneBeforeSemaphore(b *bench) {
	n, m, gone := b.node("a"), b.node("b"), b.node("c")
	r, a := n.share(backend.Shared, "1")
	gone.line(backend.Exclusive, "")
	w := m.line(backend.Shared, "1")
	_ = gone.Close()
	for began := time.Now(); ; time.Sleep(5 * time.Millisecond) { // the store hears of it in a moment
		if got, err := n.Acquire(n.ctx(), n.in(backend.Shared, "2")); err == nil && got.Granted {
			break
		}
		if time.Since(began) > 5*time.Second {
			b.Fatal("not granted behind a waiter that is gone")
		}
	}
	errs, err := n.Renew(n.ctx(), []backend.Renewal{{Name: name, Slot: r.Slot, Mode: backend.Shared, Hold: a.Hold, TTL: ttl}})
	if err != nil || errs[0] != nil {
		b.Fatalf("renew = %v, %v, want the first hold to stand still", errs, err)
	}
	m.takes(w)
	n.drop(r, a.Hold)
	n.wantHolders(backend.Shared, 2)
}

func kindsClash(b *bench) {
	n, m := b.node("a"), b.node("b")
	kinds := []backend.Mode{backend.Exclusive, 2, 3}
	for i, held := range kinds {
		r, a := n.share(held, fmt.Sprint(i))
		for _, asked := range kinds {
			if asked == held {
				continue
			}
			_, err := m.Acquire(m.ctx(), m.in(asked, "1"))
			b.is(err, backend.ErrConflict)
		}
		n.holds(a.Hold)
		n.drop(r, a.Hold)
		n.free()
	}
	n.share(backend.Shared, "7")
	_, err := m.Acquire(m.ctx(), m.in(2, "1"))
	b.is(err, backend.ErrConflict)
	if st := n.status(); st.Waiters != 0 {
		b.Errorf("status = %+v, want nobody in the queue", st)
	}
}

func kindOfWaiters(b *bench) {
	n, m := b.node("a"), b.node("b")
	x, a := n.share(backend.Exclusive, "")
	m.line(backend.Shared, "1")
	n.drop(x, a.Hold)
	m.hears(backend.HintGranted) // and does not confirm
	_, err := n.Acquire(n.ctx(), n.in(2, "1"))
	b.is(err, backend.ErrConflict)
	for began := time.Now(); n.status().Held && time.Since(began) < 10*time.Second; time.Sleep(5 * time.Millisecond) {
	}
	_, err = n.Acquire(n.ctx(), n.in(2, "2")) // nobody holds it, and m waits still
	b.is(err, backend.ErrConflict)
}

func kindOfGone(b *bench) {
	n, gone := b.node("a"), b.node("c")
	x, a := n.share(1, "1")
	gone.line(1, "1")
	_ = gone.Close()
	n.drop(x, a.Hold)
	for began := time.Now(); ; time.Sleep(5 * time.Millisecond) { // the store hears of it in a moment
		if got, err := n.Acquire(n.ctx(), n.in(3, "2")); err == nil && got.Granted {
			break
		}
		if time.Since(began) > 5*time.Second {
			b.Fatal("a waiter that is gone keeps the name for its kind")
		}
	}
	n.wantHolders(3, 1)
}

func breakOne(b *bench) {
	n, m := b.node("a"), b.node("b")
	r1, a1 := n.share(2, "1")
	_, a2 := m.share(2, "1")
	w := n.line(2, "2")
	_, err := n.Break(n.ctx(), backend.Request{Name: name, Turn: a2.Hold + 1})
	b.is(err, backend.ErrFence)
	if _, err := n.Break(n.ctx(), backend.Request{Name: name, Turn: a2.Hold}); err != nil {
		b.Fatal(err)
	}
	if h := m.hears(backend.HintBroken); h.Fence != a2.Hold || h.Slot != "1" {
		b.Errorf("hint = %+v, want the end of %d", h, a2.Hold)
	}
	n.takes(w)
	errs, err := n.Renew(n.ctx(), []backend.Renewal{{Name: name, Slot: r1.Slot, Mode: 2, Hold: a1.Hold, TTL: ttl}, {Name: name, Slot: "1", Mode: 2, Hold: a2.Hold, TTL: ttl}})
	if err != nil || errs[0] != nil {
		b.Errorf("renewal of the other hold: %v, %v", errs, err)
	}
	b.is(errs[1], backend.ErrNotHeld)
}

func delayOfOne(b *bench) {
	n := b.node("a")
	r, a := n.share(2, "1")
	n.share(2, "2")
	rel := n.req()
	rel.Slot, rel.Hold, rel.Turn, rel.Queue, rel.Delay = r.Slot, a.Hold, a.Hold, false, time.Second
	if _, err := n.Release(n.ctx(), rel); err != nil {
		b.Fatal(err)
	}
	w := n.line(2, "3")
	time.Sleep(1100 * time.Millisecond)
	n.wantGranted(n.Acquire(n.ctx(), w))
}

func cancelShare(b *bench) {
	n, m := b.node("a"), b.node("b")
	r, a := n.share(2, "1")
	n.share(2, "2")
	w := m.line(2, "1")
	c := n.req()
	c.Slot, c.Attempt, c.Hold = r.Slot, r.Seq, a.Hold
	if err := n.Cancel(n.ctx(), c); err != nil {
		b.Fatal(err)
	}
	m.takes(w)
	n.wantHolders(2, 2)
}

func reclaimShare(b *bench) {
	n, m := b.node("a"), b.node("b")
	_, a1 := n.share(2, "1")
	n.share(2, "2")
	n.line(2, "3")
	_ = n.Close()
	later := b.incarnation("a", 2)
	for _, s := range []struct {
		slot string
		hold backend.Fence
		want bool
	}{{"1", a1.Hold, true}, {"2", 0, false}, {"3", 0, false}} {
		r := later.in(2, s.slot)
		r.Hold, r.Turn = s.hold, s.hold
		got, err := later.Reclaim(later.ctx(), r)
		if err != nil || got.Granted != s.want || s.want && got.Hold != s.hold {
			b.Fatalf("reclaim of %s = %+v, %v, want granted: %v", s.slot, got, err, s.want)
		}
	}
	m.wantHolders(2, 1)
	m.share(2, "1")
}

func aheadCounts(b *bench) {
	n := b.node("a")
	n.share(2, "1")
	n.share(2, "2")
	for i := range 3 {
		if a := n.wantQueued(n.Acquire(n.ctx(), n.in(2, fmt.Sprint("w", i)))); a.Ahead != i {
			b.Errorf("ahead = %d, want %d", a.Ahead, i)
		}
	}
}
