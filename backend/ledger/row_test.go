package ledger

import (
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
)

// A fence of a new record counts from the clock of the store, not from what the
// gateway thinks that it is.
func TestNewRecordCountsFromTheStoresClock(t *testing.T) {
	next, e := Step(Record{}, Op{Node: "a", Mode: x, Want: 1, Turns: 64}, 0)
	var row Row
	if !row.Swap(Swap{Record: next, Effects: e, Floor: 70}, "v", 0, 5000) {
		t.Fatal("refused")
	}
	if h := row.Record.Firm("a"); h.ID != 5001 || row.Record.Top != 5064 {
		t.Errorf("the hold has fence %d of %d", h.ID, row.Record.Top)
	}
}

func TestRowRefuses(t *testing.T) {
	r := &scenario{t: t}
	r.want("a", x, 1).want("b", x, 1)
	next, e := Step(r.row.Record, Op{Node: "b", Mode: x, Want: 1, Turns: 1, Lapse: true}, time.Hour) // its clock is wrong
	if r.row.Swap(Swap{Base: r.row.Version, Record: next, Effects: e}, "y", r.now, 0) {
		t.Error("a living hold was passed on")
	}
	if r.row.Swap(Swap{Base: "other", Record: Record{}}, "y", r.now, 0) {
		t.Error("written over another version")
	}
	if !r.row.Swap(Swap{Base: r.row.Version, Record: r.row.Record, Effects: Effects{Ended: []backend.Fence{999}}}, r.row.Version, r.now, 0) {
		t.Error("a hold that is not there is not over")
	}
	if r.row.Renew(r.row.Record.Top+1, time.Hour, 0) || r.row.Renew(0, time.Hour, 0) {
		t.Error("a hold that is none was renewed")
	}
}

func TestJoin(t *testing.T) {
	r := &scenario{t: t}
	r.want("a", x, 1)
	ms, ok := r.row.Join(Entry{Node: "b", Want: 1}, "v2")
	if !ok || said(ms) != "[a 2]" {
		t.Errorf("joined %v, messages %v", ok, ms)
	}
	r.is("a | b")
	if _, ok := r.row.Join(Entry{Node: "b", Want: 1}, "v3"); ok || r.row.Version != "v2" {
		t.Error("a second join changes the record")
	}
	if _, ok := r.row.Join(Entry{Node: "c", Mode: p, Want: 1}, "v3"); ok {
		t.Error("a semaphore joins the queue of a lock")
	}
	var empty Row
	if _, ok := empty.Join(Entry{Node: "c", Mode: p, Want: 1}, "v1"); ok || empty.Version != "" || len(empty.Record.Queue) != 0 {
		t.Errorf("joined a name that nobody has: %+v", empty)
	}
	if foreign := (Record{}); !foreign.Join(Entry{Node: "c", Mode: p, Want: 1}) || foreign.Size != 3 {
		t.Errorf("behind a holder outside lockgw: %+v", foreign)
	}
}

// A swap that was computed before a renewal does not undo it.
func TestSwapKeepsRenewals(t *testing.T) {
	r := &scenario{t: t}
	r.want("a", s, 1)
	next, e := Step(r.row.Record, Op{Node: "b", Mode: s, Want: 1, Turns: 1, TTL: time.Second}, r.now)
	r.row.Renew(r.row.Record.Firm("a").ID, time.Hour, 0)
	if !r.row.Swap(Swap{Base: r.row.Version, Record: next, Effects: e}, "y", 0, 0) {
		t.Fatal("refused")
	}
	if end := r.row.Record.Firm("a").End; end != time.Hour {
		t.Errorf("the renewed hold ends after %v", end)
	}
}

// The leases of a write begin when it is carried out, and every other end stays.
func TestSwapStamps(t *testing.T) {
	r := (&scenario{t: t}).want("a", s, 1).want("b", s, 1)
	next, e := Step(r.row.Record, Op{Node: "b", Mode: s, Keep: 1, Want: 1, Hold: r.row.Record.Firm("b").ID, Turns: 1, Extend: true, TTL: time.Minute}, 0)
	if !r.row.Swap(Swap{Base: r.row.Version, Record: next, Effects: e}, "y", 5*time.Second, 0) {
		t.Fatal("refused")
	}
	if a, b := r.row.Record.Firm("a").End, r.row.Record.Firm("b").End; a != 30*time.Second || b != 65*time.Second {
		t.Errorf("a ends at %v and b at %v, want 30s and 65s", a, b)
	}
}

// A write that Lengthens does not shorten a lease, and begins that of a new hold.
func TestSwapLengthens(t *testing.T) {
	for ttl, want := range map[time.Duration]time.Duration{10 * time.Second: 30 * time.Second, time.Minute: 65 * time.Second} {
		r := (&scenario{t: t}).want("a", s, 1)
		next, e := Step(r.row.Record, Op{Node: "a", Mode: s, Keep: 1, Hold: r.row.Record.Firm("a").ID, Turns: 1, Extend: true, TTL: ttl}, 0)
		next.Holds = append(next.Holds, Hold{Node: "b", Mode: s, Count: 1, ID: next.Top + 1})
		e.Stamps = append(e.Stamps, Stamp{next.Top + 1, ttl})
		next.Top++
		e.Lengthens = true
		if !r.row.Swap(Swap{Base: r.row.Version, Record: next, Effects: e}, "y", 5*time.Second, 0) {
			t.Fatal("refused")
		}
		if a, b := r.row.Record.Firm("a").End, r.row.Record.Firm("b").End; a != want || b != ttl+5*time.Second {
			t.Errorf("ttl %v: a ends at %v and b at %v, want %v and %v", ttl, a, b, want, ttl+5*time.Second)
		}
	}
}

// The fences of a record that is there already, or was there before, are not counted anew.
func TestSwapRebasesNewRecordsAlone(t *testing.T) {
	r := (&scenario{t: t}).want("a", x, 1)
	if !r.row.Swap(Swap{Base: r.row.Version, Record: r.row.Record}, "y", 0, 5000) || r.row.Record.Top != 1 {
		t.Errorf("the newest fence is %d, want 1", r.row.Record.Top)
	}
	var row Row
	if !row.Swap(Swap{Record: r.row.Record, Absolute: true}, "v", 0, 5000) || row.Record.Top != 1 {
		t.Errorf("the newest fence of what the store had forgotten is %d, want 1", row.Record.Top)
	}
}

// A hold is renewed by its fence, never to an earlier end; an offer is not.
func TestRenew(t *testing.T) {
	r := (&scenario{t: t}).want("a", x, 1).want("b", x, 1)
	before, a := r.row.Record, r.row.Record.Firm("a").ID
	if !r.row.Renew(a, time.Minute, 0) || !r.row.Renew(a, time.Second, 0) || r.row.Record.Firm("a").End != time.Minute || before.Firm("a").End == time.Minute {
		t.Errorf("renewed: %+v, what was read before: %+v", r.row.Record, before)
	}
	r.leaves("a")
	if r.row.Renew(r.row.Record.Offer("b").ID, time.Minute, 0) || r.row.Renew(a, time.Minute, 0) {
		t.Errorf("renewed what is no hold: %+v", r.row.Record)
	}
}
