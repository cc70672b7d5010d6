package ledger

import (
	"slices"
	"time"

	"github.com/lockgw/lockgw/backend"
)

// Step computes the record that op makes of r at the time now, which is on the clock
// of the ends in r. It changes nothing that r refers to. If the result is Same as r,
// there is nothing to write.
//
// The protocol is docs/model.md; package contender/model explores this function
// together with the machine that calls it.
func Step(r Record, op Op, now time.Duration) (Record, Effects) {
	s := stepping{Record: r.Clone(), op: op, now: now}
	s.Last = max(s.Last, op.Last)
	if op.Lapse {
		s.lapse()
	}
	switch op.Verb {
	case Pass:
		s.serve("", false)
	case Break:
		s.breakHold()
	default:
		s.sync()
	}
	return s.Record, s.Effects
}

type stepping struct {
	Record
	Effects
	op   Op
	now  time.Duration
	then bool // the node stands in the queue for a caller for whom it has not asked yet
}

// lapse ends what others have and whose time is up. A node that let an offer run out
// is suspect until it writes again.
func (s *stepping) lapse() {
	var delay time.Duration
	s.Holds = slices.DeleteFunc(s.Holds, func(h Hold) bool {
		unheard := h.Offered && slices.Contains(s.op.Unheard, h.ID)
		if h.Node == s.op.Node || !unheard && h.End > s.now {
			return false
		}
		if e := s.Entry(h.Node); e != nil && h.Offered {
			s.suspect(e, unheard)
			s.tell(h.Node, Look) // it has not heard of the offer, perhaps
		}
		if !unheard { // that is no question of time
			s.Ended = append(s.Ended, h.ID)
		}
		if h.Node != "" && h.Mode == backend.Exclusive && !h.Offered {
			delay = h.End + s.op.Delay - s.now
		}
		s.untold(&h)
		return true
	})
	s.bar(delay)
}

// untold: the node that had h has not written which fences it gave.
func (s *stepping) untold(h *Hold) {
	if h.Node != "" && !h.Offered && (h.Node != s.op.Node || s.op.Last < h.ID) {
		s.Last = max(s.Last, s.Top)
	}
}

// sync brings the record in line with what the node uses and wants.
func (s *stepping) sync() {
	me := s.op.Node
	waited := false
	if e := s.Entry(me); e != nil {
		waited, e.Suspect = !e.Suspect, false
	}
	want, asks := s.op.Want, me
	if s.Conflicts(me, s.op.Mode) {
		want = 0
	}
	if s.op.Restore {
		s.restore()
	}
	if s.op.Verb == Leave { // it takes nothing by this write, which is a grant to nobody here
		s.keep(0)
		s.take(0)
		asks = ""
	} else {
		want = s.keep(want)
		want = s.take(want)
	}
	if !s.usedByOthers(me, ever) {
		s.Size = s.op.Mode.Limit()
	}
	anew := s.stand(want)
	if len(s.Holds) == 0 { // or another has it already
		s.bar(s.op.Bar)
	}
	s.standThen()
	s.serve(asks, true)
	if s.op.Try {
		s.dequeue(me)
	}
	if h := s.Firm(me); h != nil { // whatever a node writes renews its lease
		s.stamp(h, s.op.TTL)
		h.Retains, h.Callers, h.At = s.op.Retains, s.op.Callers, s.op.At
		if s.op.Verb != Reclaim { // which is written before what was there is looked at
			h.Breaks = nil
		}
	}
	if e := s.Entry(me); e != nil {
		e.Deaf, e.Waiters, e.At = s.op.Deaf, s.op.Waiters, s.op.At
		if !waited || anew {
			s.tellHolders(me)
		}
	}
	if !s.InUse() {
		s.Size = 0
	}
}

// keep sees to the node's own hold, and returns what it still wants.
func (s *stepping) keep(want int) int {
	h, op := s.Firm(s.op.Node), s.op
	switch {
	case h == nil:
		return want
	case h.ID != op.Hold:
		return s.found(h, want)
	}
	others, permits := s.OthersWait(op.Node), h.Mode.Limit() > 0
	if op.Verb == Leave {
		op.Keep = 0
	}
	if permits { // the store may have an older record again: what was given back is no grant, what is used is held
		h.Count = max(h.Count-op.Stray, 0)
		if h.Count += max(min(op.Keep-h.Count, s.free(h.Mode)), 0); h.Count == 0 {
			s.drop(h)
			return want
		}
	}
	spare := op.Keep > 0 && want == 0 // what nobody here uses is for those who do not want to wait elsewhere
	if op.Verb != Sync || others || spare || op.Mode != h.Mode {
		if h.Count = min(h.Count, op.Keep); h.Count == 0 {
			s.drop(h)
			return want
		}
	}
	if others {
		return want
	}
	if op.Extend {
		h.Block = s.reserve(op.Turns)
	}
	switch {
	case op.Mode != h.Mode:
		return want
	case permits:
		return max(want-max(h.Count-op.Keep, 0), 0)
	default:
		return 0
	}
}

// found is a hold of the node that it does not know of: an answer was lost. Its fences
// may have been told by an earlier process, so it gets new ones. It is a grant: a store that
// has gone back to an older record may have forgotten to whom the node gave it since.
func (s *stepping) found(h *Hold, want int) int {
	if want == 0 || h.Mode != s.op.Mode {
		s.untold(h)
		s.drop(h)
		return want
	}
	h.Count = min(h.Count, want)
	h.ID = s.reserve(s.op.Turns)
	h.Block = h.ID
	s.Grants, s.Taken = true, true
	return want - h.Count
}

// take makes what was offered to the node its own, as far as it wants it.
func (s *stepping) take(want int) int {
	o := s.Offer(s.op.Node)
	if o == nil {
		return want
	}
	took := 0
	if o.Mode == s.op.Mode {
		took = min(o.Count, want)
	}
	s.drop(o)
	if took == 0 {
		return want
	}
	s.grant(s.op.Mode, took)
	s.Taken = true
	if e := s.Entry(s.op.Node); e != nil {
		if e.Want -= took; e.Want <= 0 {
			s.dequeue(e.Node)
		}
	}
	return want - took
}

// stand puts the node into the queue for what it still wants, and says whether it was
// not there before. A place is kept; more permits than it was taken for are wanted
// from the end of the queue.
func (s *stepping) stand(want int) (anew bool) {
	e := s.Entry(s.op.Node)
	switch {
	case want == 0:
		s.dequeue(s.op.Node)
		return false
	case e == nil:
		s.enqueue(Entry{Node: s.op.Node, Mode: s.op.Mode, Want: want, Since: s.op.Since, Then: s.op.Then})
		return true
	case e.Node != s.Queue[len(s.Queue)-1].Node:
		want = min(want, e.Want)
	}
	e.Mode, e.Want, e.Then = s.op.Mode, want, s.op.Then
	if s.op.Strict && e.Since != s.op.Since {
		moved := *e
		moved.Since = s.op.Since
		s.dequeue(moved.Node)
		s.enqueue(moved)
	}
	return false
}

// restore writes down again a hold that the store has forgotten, unless somebody may
// have been granted the name since. An earlier hold of the node that stands there is over:
// the store has gone back to before that.
func (s *stepping) restore() {
	op, n := s.op, 1
	if op.Mode.Limit() > 0 {
		n = op.Keep
	}
	granted := s.Top > op.Floor
	if op.Hold == 0 || op.Keep == 0 || s.Broken == op.Hold || granted {
		return
	}
	if h := s.Firm(op.Node); h != nil && h.ID < op.Hold {
		s.untold(h)
		s.drop(h)
	}
	if s.Firm(op.Node) != nil || s.free(op.Mode) < n {
		return
	}
	s.Top = op.Floor
	s.Holds = append(s.Holds, Hold{Node: op.Node, Mode: op.Mode, Count: n, ID: op.Hold, Block: op.Hold})
}

// reserve takes n fences and returns the first.
func (s *stepping) reserve(n int) backend.Fence {
	first := max(s.Top, s.op.Floor) + 1
	s.Top = first + backend.Fence(n) - 1
	return first
}

func (s *stepping) stamp(h *Hold, ttl time.Duration) {
	h.End = s.now + ttl
	s.Stamps = append(s.Stamps, Stamp{h.ID, ttl})
}

func (s *stepping) tell(node string, k Kind) {
	if m := (Message{Node: node, Kind: k}); !slices.Contains(s.Messages, m) {
		s.Messages = append(s.Messages, m)
	}
}

// tellHolders tells all who hold the name that node waits.
func (s *stepping) tellHolders(node string) {
	for _, h := range s.Holds {
		if h.Node != node && h.Node != "" && !h.Offered {
			s.tell(h.Node, Waits)
		}
	}
}

// nextAfter is the next node behind place i that waits and is not suspect.
func (s *stepping) nextAfter(i int, asks string) string {
	for _, e := range s.Queue[i+1:] {
		if !e.Suspect && e.Node != asks {
			return e.Node
		}
	}
	return ""
}

func (s *stepping) dequeue(node string) {
	s.Queue = slices.DeleteFunc(s.Queue, func(e Entry) bool { return e.Node == node })
}

func (s *stepping) drop(h *Hold) {
	id := h.ID
	s.Holds = slices.DeleteFunc(s.Holds, func(x Hold) bool { return x.ID == id })
}
