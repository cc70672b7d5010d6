package ledger

import (
	"slices"
	"time"

	"github.com/lockgw/lockgw/backend"
)

// Row is what a table keeps for one name, with the three writes that a Table has, for
// tables that can run Go where the row is. The zero Row is no record.
//
// The ends are on the table's clock; now is the time there.
type Row struct {
	Version Version
	Record  Record
}

// Swap carries out s, if it may be, and gives the row the version next. clock is where
// fences of a new record begin at least.
func (r *Row) Swap(s Swap, next Version, now time.Duration, clock backend.Fence) bool {
	if s.Base != r.Version {
		return false
	}
	for _, id := range s.Effects.Ended {
		if h := r.Record.Hold(id); h != nil && h.End > now {
			return false
		}
	}
	n := s.Record.Clone()
	for i := range n.Holds { // a renewal changes an end without a version
		h := &n.Holds[i]
		was := r.Record.Hold(h.ID)
		if was != nil {
			h.End = was.End
		}
		if ttl, begins := LeaseOf(s.Effects.Stamps, h.ID); begins {
			h.End = now + ttl
			if s.Effects.Lengthens && was != nil {
				h.End = max(h.End, was.End)
			}
		}
	}
	if r.Version == "" && !s.Absolute {
		n.Rebase(max(clock, s.Floor))
	}
	r.Version, r.Record = next, n
	return true
}

// Join puts e into the queue and returns the messages to send; ok: the row changed and
// has the version next. Where nobody has the name, nothing changes: its node sees that in
// the reply, and takes it. An entry that came too late, of a node that has gone, would
// stay, since nobody would ever offer it anything.
func (r *Row) Join(e Entry, next Version) (ms []Message, ok bool) {
	n := r.Record.Clone()
	if len(n.Holds) == 0 || !n.Join(e) {
		return nil, false
	}
	s := stepping{Record: n}
	s.tellHolders(e.Node)
	r.Version, r.Record = next, n
	return s.Messages, true
}

// Join puts e into the queue, behind a holder outside lockgw, too. false: its node is there
// already, or the name is of another kind.
func (r *Record) Join(e Entry) bool {
	if r.Conflicts(e.Node, e.Mode) || r.Entry(e.Node) != nil {
		return false
	}
	r.Size = e.Mode.Limit() // of what lock.delay alone keeps, it may have been another
	r.Queue = append(r.Queue, e)
	return true
}

// Renew has the hold id last until now + ttl at least.
func (r *Row) Renew(id backend.Fence, ttl, now time.Duration) bool {
	for i := range r.Record.Holds {
		if h := &r.Record.Holds[i]; h.ID == id && !h.Offered {
			holds := slices.Clone(r.Record.Holds)
			holds[i].End = max(h.End, now+ttl)
			r.Record.Holds = holds
			return true
		}
	}
	return false
}

// Reply tells the row.
func (r *Row) Reply(now time.Duration) Reply {
	p := Reply{Version: r.Version, Record: r.Record.Clone()}
	p.Record.Shift(-now)
	return p
}

// Shift moves all ends by d, from one clock to another.
func (r *Record) Shift(d time.Duration) {
	for i := range r.Holds {
		r.Holds[i].End += d
	}
}

// Rebase adds base to all fences: those of a new record are counted from the clock of
// the store, which only the store knows.
func (r *Record) Rebase(base backend.Fence) {
	r.Top += base
	for i := range r.Holds {
		h := &r.Holds[i]
		h.ID += base
		if h.Block != 0 {
			h.Block += base
		}
	}
}
