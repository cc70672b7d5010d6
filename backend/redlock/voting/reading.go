package voting

import (
	"slices"
	"strings"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

// reading is what the rows of several servers say together about one accepted record.
type reading struct {
	vote
	votes   int  // how many of the rows have it
	deleted bool // a row that has this version lacks a hold of it
	// record as of at, without holds that most servers do not have any more, and with a
	// holder outside lockgw if most servers have one.
	record ledger.Record
	rest   map[backend.Fence]time.Duration
	at     time.Duration
	clock  int64
	base   backend.Fence // fences of new holds begin above it
	seen   []string      // of the holder outside lockgw, by server; nil: there is none
	// refusing is why nothing new is granted by a majority.
	refusing string
}

// newest is the vote of the rows that has the highest accepted ballot.
func newest(rows []*row) (v vote) {
	for _, r := range rows {
		if v.accepted.less(r.accepted) {
			v = r.vote
		}
	}
	return v
}

// common is the vote of that many rows with the same accepted ballot.
func common(rows []*row, quorum int) (vote, bool) {
	for _, r := range rows {
		n := 0
		for _, o := range rows {
			if o.accepted == r.accepted {
				n++
			}
		}
		if n >= quorum {
			return r.vote, true
		}
	}
	return vote{}, false
}

// read takes together what rows say of the record that v is the vote of. They are of some of
// so many servers; a hold is over, or somebody outside lockgw has the name, only where a
// majority of all of them says so. It is the time at.
func read(rows []*row, v vote, servers int, at time.Duration) reading {
	quorum := servers/2 + 1
	x := reading{vote: v, rest: map[backend.Fence]time.Duration{}, at: at}
	missing, outside, refusing := map[backend.Fence]int{}, 0, 0
	seen := make([]string, servers)
	var outsider ledger.Hold
	x.record, x.votes = most(rows, v)
	left := map[backend.Fence]time.Duration{}
	for _, r := range rows {
		x.clock = max(x.clock, r.now(x.at))
		x.base = max(x.base, backend.Fence(x.clock), r.record.Top)
		if r.refusing != "" {
			refusing++
			x.refusing = r.refusing
		}
		for _, h := range r.record.Holds {
			now := h.End - (x.at - r.at)
			if h.ID == 0 {
				outside++
				seen[r.server] = r.seen
				outsider = h
				outsider.End = now
			} else if last, ok := x.rest[h.ID]; !ok {
				x.rest[h.ID], left[h.ID] = h.End, now
			} else {
				x.rest[h.ID], left[h.ID] = max(h.End, last), max(now, left[h.ID])
			}
		}
		x.deleted = x.deleted || r.first == v.first && slices.ContainsFunc(r.holds, func(id backend.Fence) bool { return r.record.Hold(id) == nil })
		if r.accepted != v.accepted {
			continue
		}
		x.record.Top = max(x.record.Top, r.record.Top)
		for _, h := range x.record.Holds {
			if r.record.Hold(h.ID) == nil {
				missing[h.ID]++
			}
		}
	}
	if v.accepted == (ballot{}) {
		x.record.Top = 0 // there is no record: servers have told what one would count from
	}
	x.record.Holds = slices.DeleteFunc(x.record.Holds, func(h ledger.Hold) bool { return h.ID == 0 || missing[h.ID] >= quorum })
	for i := range x.record.Holds {
		x.record.Holds[i].End = left[x.record.Holds[i].ID]
	}
	if outside >= quorum { // so that no majority has a lock of lockgw's
		x.deleted = x.deleted || len(x.record.Holds) > 0
		x.record.Holds = []ledger.Hold{outsider}
		x.seen = seen
	}
	x.record.Size = size(rows, quorum)
	if servers-refusing >= quorum {
		x.refusing = ""
	}
	return x
}

// most of the record v that rows have, and how many have it. Some may lack holds: their lock
// was deleted, or taken by somebody outside.
func most(rows []*row, v vote) (record ledger.Record, votes int) {
	for _, r := range rows {
		if r.accepted == v.accepted {
			votes++
			if votes == 1 || holds(&r.record) > holds(&record) {
				record = r.record
			}
		}
	}
	record = record.Clone()
	record.Vote = ""
	return record, votes
}

// size is the Size of a name: it is of another kind only where so many servers say so.
func size(rows []*row, quorum int) int {
	for _, r := range rows {
		if r.record.Size == ledger.OtherKind {
			quorum--
		}
	}
	if quorum > 0 {
		return 0
	}
	return ledger.OtherKind
}

// holds is how many of them r has. That of a program outside lockgw stands in place of those that
// the server lacks.
func holds(r *ledger.Record) (n int) {
	for _, h := range r.Holds {
		if h.ID != 0 {
			n++
		}
	}
	return n
}

// lost: the record that rows are of had a hold which none of them has any more, and servers that
// were not read may have it still. It is over only where a majority of all lacks it.
func (t *Table) lost(rows []*row) bool {
	v := newest(rows)
	have := slices.DeleteFunc(slices.Clone(rows), func(r *row) bool { return r.accepted != v.accepted })
	return len(have) < t.quorum && slices.ContainsFunc(v.holds, func(id backend.Fence) bool {
		return !slices.ContainsFunc(have, func(r *row) bool { return r.record.Hold(id) != nil })
	})
}

// now is what the server's clock says at the time t; 0: it has not told.
func (r *row) now(t time.Duration) int64 {
	if r.clock == 0 {
		return 0
	}
	return r.clock + (t - r.at).Microseconds()
}

// reply is the reading as it is told.
func (x *reading) reply() ledger.Reply {
	r := ledger.Reply{Version: x.version(), Record: x.record, Clock: x.clock, Refusing: x.refusing}
	for _, s := range x.seen {
		if s != "" {
			r.Seen = strings.Join(x.seen, between)
		}
	}
	return r
}

// between what servers say of a lock of a program outside lockgw.
const between = "\n"

// same is the value that leaves everything as it was read. Where locks were deleted it is another
// version: who has seen this one without them does not know whether they are written again. Where
// there is no record it is an empty one.
func (x *reading) same(first ballot) *value {
	v := &value{first: x.first, past: x.past, record: inside(x.record), outsider: x.record.Hold(0), rest: x.rest, frees: true}
	if x.deleted || x.accepted == (ballot{}) {
		v.first, v.past = first, x.after()
	}
	if x.accepted == (ballot{}) { // an empty one, which takes nothing from the fences that come
		v.record.Top = x.base
	}
	return v
}

// inside is r without holders outside lockgw.
func inside(r ledger.Record) ledger.Record {
	r = r.Clone()
	r.Holds = slices.DeleteFunc(r.Holds, func(h ledger.Hold) bool { return h.ID == 0 })
	return r
}

// carriesOut: s may be written in place of what was read.
func (x *reading) carriesOut(s *ledger.Swap) bool {
	if s.Base != x.version() {
		return false
	}
	for _, id := range s.Effects.Ended { // what lasted when its server was read may have been renewed since
		if x.record.Hold(id) != nil && x.rest[id] > 0 {
			return false
		}
	}
	for _, h := range s.Record.Holds { // one that goes on has to be there still
		if h.ID <= x.record.Top && x.record.Hold(h.ID) == nil && s.Base != "" && !s.Absolute {
			return false
		}
	}
	return s.Effects.Evicts || (s.Record.Hold(0) != nil) == (x.record.Hold(0) != nil)
}

// value is what s puts in place of what was read.
//
// Fences of new holds begin above the clocks of the servers, and above what those without a
// record have promised to count from, if that is ahead: so they grow even where servers have
// forgotten which were given.
func (x *reading) value(first ballot, s *ledger.Swap) *value {
	v := &value{first: first, past: x.after(), record: inside(s.Record), rest: x.rest, ended: s.Effects.Ended, messages: s.Effects.Messages}
	v.frees = !s.Effects.Grants && len(s.Record.Queue) <= len(x.record.Queue)
	v.stamps = append(v.stamps, s.Effects.Stamps...)
	if s.Effects.Evicts {
		v.evicts = strings.Split(s.Seen, between)
	} else {
		v.outsider = x.record.Hold(0)
	}
	top, add := x.record.Top, backend.Fence(0)
	switch {
	case s.Absolute:
	case s.Base == "":
		top, add = 0, max(x.base, s.Floor)
	case s.Effects.Grants && x.base > top:
		add = x.base - top
	}
	raise := func(f *backend.Fence) {
		if *f > top || s.Base == "" && f == &v.record.Top {
			*f += add
		}
	}
	raise(&v.record.Top)
	for i := range v.record.Holds {
		raise(&v.record.Holds[i].ID)
		raise(&v.record.Holds[i].Block)
	}
	for i := range v.stamps {
		raise(&v.stamps[i].ID)
	}
	return v
}
