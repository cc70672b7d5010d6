package backendtest

import (
	"reflect"
	"time"

	"github.com/lockgw/lockgw/backend"
)

// reclaim of hold by the next incarnation of n's node.
func (b *bench) reclaim(hold backend.Fence) (*node, backend.Request, backend.Answer) {
	b.Helper()
	n := b.incarnation("a", 2)
	r := n.req()
	r.Hold, r.Turn, r.Count, r.Owner = hold, hold, 2, "again:1"
	a, err := n.Reclaim(n.ctx(), r)
	if err != nil {
		b.Fatalf("reclaim: %v", err)
	}
	return n, r, a
}

func reclaimAdopts(b *bench) {
	old := b.incarnation("a", 1)
	first := old.req()
	first.TTL = time.Second
	had := old.wantGranted(old.Acquire(old.ctx(), first))
	n, _, a := b.reclaim(had.Hold)
	if !a.Granted || a.Hold != had.Hold || a.Block <= had.Block || a.Turns != 4 {
		b.Fatalf("reclaim = %+v, want hold %d and a new block of 4", a, had.Hold)
	}
	if st := n.status(); st.Owner != "again:1" || st.Count != 2 || st.TTL <= time.Second {
		b.Errorf("status = %+v, want 2 entries of the owner that was told, and a new lease", st)
	}
	_, err := old.Acquire(old.ctx(), old.req())
	b.is(err, backend.ErrStale)
	n.give(a.Hold)
	if st := n.status(); st.Held {
		b.Errorf("status = %+v after the release, want free", st)
	}
}

func repeatReclaim(b *bench) {
	_, had := b.incarnation("a", 1).granted()
	n, r, a := b.reclaim(had.Hold)
	again, err := n.Reclaim(n.ctx(), r)
	if err != nil || !reflect.DeepEqual(again, a) {
		b.Errorf("repeat = %+v, %v, want %+v", again, err, a)
	}
}

func reclaimDrops(b *bench) {
	old, m := b.incarnation("a", 1), b.node("b")
	_, had := old.granted()
	m.queued()
	n, _, a := b.reclaim(had.Hold + 1)
	if a.Granted || n.Info().Queue && (!a.Provisional || a.Wait <= 0) {
		b.Errorf("reclaim of nothing = %+v, want the name passed on", a)
	}
	got := m.confirmed()
	m.holds(got.Hold)
	n.queued()
	r := n.req()
	r.Name = name
	later := b.incarnation("a", 3)
	r.Seq, r.Hold = 1, 0
	if a, err := later.Reclaim(later.ctx(), r); err != nil || a.Granted {
		b.Errorf("reclaim = %+v, %v, want nothing", a, err)
	}
	if st := m.status(); st.Waiters != 0 {
		b.Errorf("waiters = %d, want none: the place of the earlier incarnation is dropped", st.Waiters)
	}
}

func reclaimFinal(b *bench) {
	old, m := b.incarnation("a", 1), b.node("b")
	_, had := old.granted()
	old.give(had.Hold)
	_, theirs := m.granted()
	if _, _, a := b.reclaim(had.Hold); a.Granted {
		b.Errorf("reclaim = %+v of a hold that is over", a)
	}
	m.holds(theirs.Hold)
}
