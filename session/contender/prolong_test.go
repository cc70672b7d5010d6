package contender

import (
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

// prolong has w ask for d, and the store answer at once.
func (b *bench) prolong(w *Caller, d time.Duration) {
	b.Helper()
	r, ok, e := b.c.Prolong(b.now, w, d)
	b.did(e)
	if !ok {
		b.Fatal("it holds nothing")
	}
	var err error
	if !b.row.Renew(r.ID, r.TTL, b.now) {
		err = backend.ErrNotHeld
	}
	b.did(b.c.Prolonged(b.now, w, r, b.now, err))
}

func TestProlong(t *testing.T) {
	b := newBench(t, nil)
	w := b.enter(exclusive())
	b.answer().accept(w)
	b.now += time.Second
	b.prolong(w, 10*ttl)
	if got, want := b.c.Deadline(w), b.now+10*ttl-ttl/10; got != want || w.TTL != 10*ttl {
		t.Errorf("until %v, want %v; ttl %v", got, want, w.TTL)
	}
	until := b.c.Deadline(w)
	if b.prolong(w, ttl); b.c.Deadline(w) != until || w.TTL != 10*ttl {
		t.Errorf("a shorter one has made it %v", b.c.Deadline(w))
	}
	if b.last.Timer < b.now+10*ttl/3-time.Second {
		t.Errorf("renewed again at %v", b.last.Timer)
	}
	b.now = b.last.Timer
	if e := b.did(b.c.Tick(b.now)); e.Renew == nil || e.Renew.TTL != 10*ttl {
		t.Errorf("the watchdog renews with %+v", e.Renew)
	}
	b.did(b.c.Release(b.now, w))
	if _, ok, _ := b.c.Prolong(b.now, w, ttl); ok {
		t.Error("prolonged after the release")
	}
}

func TestProlongAFixedLease(t *testing.T) {
	b := newBench(t, nil)
	w := exclusive()
	w.Fixed = true
	b.enter(w)
	b.answer().accept(w)
	b.now += ttl / 2
	b.prolong(w, ttl)
	if want := b.now + ttl - ttl/100; w.Until != want || b.c.Deadline(w) != want {
		t.Errorf("until %v and %v, want %v", w.Until, b.c.Deadline(w), want)
	}
	b.prolong(w, time.Second)
	if w.Until != b.now+ttl-ttl/100 {
		t.Error("it ends earlier than was told")
	}
}

// A renewal by a caller and one of the watchdog may be under way at once.
func TestProlongBesideTheWatchdog(t *testing.T) {
	b := newBench(t, nil)
	w := b.enter(exclusive())
	b.answer().accept(w)
	b.now += ttl / 3
	renew := *b.did(b.c.Tick(b.now)).Renew
	b.prolong(w, ttl)
	if b.last.Renew != nil {
		t.Error("the watchdog asks twice")
	}
	b.now += ttl / 2
	if b.did(b.c.Tick(b.now)); b.last.Renew != nil {
		t.Error("the watchdog asks twice")
	}
	b.did(b.c.Renewed(b.now, renew, b.now-ttl/2, nil))
	if b.last.Renew == nil {
		t.Error("the watchdog does not go on")
	}
}

// A write that gives a shorter lease, and is carried out after the renewal, undoes it.
func TestRenewalBesideAWriteOfAShorterLease(t *testing.T) {
	for _, another := range []bool{false, true} {
		b := newBench(t, nil)
		w, next := b.enter(exclusive()), exclusive()
		next.TTL = time.Second
		b.enter(next)
		b.answer().accept(w)
		b.now += ttl / 3
		renew, sentAt := *b.did(b.c.Tick(b.now)).Renew, b.now
		b.row.Renew(renew.ID, renew.TTL, b.now)
		if another { // write, of the longer lease
			b.did(b.c.SetEntries(b.now, w, 2))
			b.settle()
		}
		b.did(b.c.Release(b.now, w)) // the next one wants a second only
		b.settle()
		b.did(b.c.Renewed(b.now, renew, sentAt, nil))
		if !b.accept(next) {
			t.Fatal("not granted")
		}
		if end := b.row.Record.Firm("me").End; b.c.Deadline(next) > end {
			t.Errorf("it counts on %v, the store has %v", b.c.Deadline(next)-b.now, end-b.now)
		}
		if b.last.Timer > b.now+time.Second {
			t.Errorf("renewed in %v", b.last.Timer-b.now)
		}
	}
}

// Another renewal in between makes no difference.
func TestRenewalsBesideAWriteOfAShorterLease(t *testing.T) {
	b := newBench(t, nil)
	w, next := b.enter(exclusive()), exclusive()
	next.TTL = time.Second
	b.enter(next)
	b.answer().accept(w)
	b.now += ttl / 3
	renew, sentAt := *b.did(b.c.Tick(b.now)).Renew, b.now
	b.row.Renew(renew.ID, renew.TTL, b.now)
	b.did(b.c.Release(b.now, w))
	b.settle()
	if !b.accept(next) {
		t.Fatal("not granted")
	}
	b.prolong(next, 2*time.Second)
	b.did(b.c.Renewed(b.now, renew, sentAt, nil))
	if end := b.row.Record.Firm("me").End; b.c.Deadline(next) > end {
		t.Errorf("it counts on %v, the store has %v", b.c.Deadline(next)-b.now, end-b.now)
	}
}

// So does a write that was sent before, and comes late.
func TestProlongBesideAWriteThatIsLate(t *testing.T) {
	b := newBench(t, nil)
	w := b.enter(exclusive())
	b.answer().accept(w)
	b.did(b.c.SetEntries(b.now, w, 2))
	late := b.sent
	b.did(b.c.Reply(b.now, ledger.Reply{}, backend.ErrUnavailable))
	b.prolong(w, 10*ttl)
	b.sent = late
	b.carryOut()
	if end := b.row.Record.Firm("me").End; b.c.Deadline(w) > end {
		t.Errorf("it counts on %v, the store has %v", b.c.Deadline(w)-b.now, end-b.now)
	}
	b.now += time.Second
	b.did(b.c.Tick(b.now))
	b.settle()
	if b.prolong(w, 20*ttl); b.c.Deadline(w) != b.now+20*ttl-ttl/5 {
		t.Errorf("when no write is under way it counts on %v", b.c.Deadline(w)-b.now)
	}
}

// The store keeps a fixed lease for no longer than was told, whatever is written.
func TestWriteOfAFixedLease(t *testing.T) {
	w := exclusive()
	w.Fixed = true
	b := held(t, w, nil)
	b.now += ttl / 2
	b.did(b.c.SetEntries(b.now, w, 2))
	if b.settle(); b.row.Record.Firm("me").End != w.Until+ttl/100 {
		t.Errorf("by the store it ends at %v, told was %v", b.row.Record.Firm("me").End, w.Until)
	}
}

// A renewal counts for no more than it has asked for, nor than a write beside it that is carried
// out after it.
func TestProlongBesideAWrite(t *testing.T) {
	for name, tt := range map[string]struct {
		d    time.Duration
		lost bool // is the write
	}{"short, and the write is lost": {time.Second, true}, "long, and the write comes after it": {10 * ttl, false}} {
		w := exclusive()
		w.Fixed = !tt.lost
		b := held(t, w, nil)
		b.now += ttl / 2
		b.did(b.c.SetEntries(b.now, w, 2)) // with the rest of the lease, where that is fixed
		write := b.sent
		b.prolong(w, tt.d)
		if b.sent = write; !tt.lost {
			b.carryOut()
		}
		if end := b.row.Record.Firm("me").End; b.c.Deadline(w) > end {
			t.Errorf("%s: it counts on %v, the store has %v", name, b.c.Deadline(w)-b.now, end-b.now)
		}
	}
}

// A write of an earlier process may come as long as the store has not answered.
func TestProlongAfterARestart(t *testing.T) {
	b := newBench(t, nil)
	w := b.enter(exclusive())
	b.answer().accept(w)
	b.did(b.c.SetEntries(b.now, w, 2))
	late, until := b.sent, b.c.Deadline(w)
	if _, ok, _ := b.c.Prolong(b.now, w, 10*ttl); !ok { // and is killed
		t.Fatal("it holds nothing")
	}
	var e Effects
	b.c, e = Recover(b.now, b.c.cfg, Past{ID: w.Fence, Deadline: until, Callers: []*Caller{w}})
	b.did(e)
	reclaim := b.sent
	b.prolong(w, 10*ttl)
	b.sent = late
	b.carryOut()
	if end := b.row.Record.Firm("me").End; b.c.Deadline(w) > end {
		t.Errorf("it counts on %v, the store has %v", b.c.Deadline(w)-b.now, end-b.now)
	}
	b.sent = reclaim
	b.settle()
	if b.prolong(w, 10*ttl); !w.Holds() || b.c.Deadline(w) != b.now+10*ttl-ttl/10 {
		t.Errorf("once the store has answered it counts on %v", b.c.Deadline(w)-b.now)
	}
}

// From the sending of a write that makes a lease shorter, it counts as short. Nobody is
// in who was told of the longer one.
func TestLeaseIsShortFromTheSending(t *testing.T) {
	b := newBench(t, nil)
	long, short := b.enter(shared()), shared()
	b.answer().accept(long)
	short.TTL = time.Second
	b.enter(short)
	b.did(b.c.Release(b.now, long))
	b.did(b.c.Describe(b.now))
	b.carryOut() // the answer is under way
	if !b.accept(short) {
		t.Fatal("not let in")
	}
	es := b.last.Journal
	if end := b.row.Record.Firm("me").End; b.c.Deadline(short) > end || len(es) == 0 || es[len(es)-1].Deadline > end {
		t.Errorf("it counts on %v, the store has %v; the journal %+v", b.c.Deadline(short)-b.now, end-b.now, es)
	}
}
