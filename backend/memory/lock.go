package memory

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/lockgw/lockgw/backend"
)

type contender struct{ node, slot string }

// lock is all that the store keeps for one name.
type lock struct {
	name     string
	holds    []*hold              // one, or as many as its mode lets in
	delayed  time.Time            // ungrantable until then
	queue    []entry              // by the time of entering
	suspect  map[string]time.Time // when a node's provisional hold runs out
	floors   map[contender]floor
	top      backend.Fence // newest fence reserved
	given    backend.Fence // last fence of the last hold that was released,
	reserved backend.Fence // and top at that time
	granting bool          // this store has granted it
	sweepAt  int           // how many floors make it worth looking for old ones
	touched  time.Time
}

type hold struct {
	by          contender
	mode        backend.Mode
	inc         uint64 // incarnation of the node
	seq         uint64 // request by which it was granted
	fence       backend.Fence
	block       backend.Fence
	turns       int
	turn        backend.Fence
	described   uint64 // Seq of the newest Describe
	owner       backend.Owner
	count       int
	record      string
	until       time.Time
	provisional bool
}

type entry struct {
	by    contender
	inc   uint64
	until time.Time // the sender has not asked again for so long that it is gone
	req   backend.Request
}

// floor is the newest request seen of a contender.
type floor struct {
	inc, seq uint64
	at       time.Time
}

func (s *Store) lock(name string) *lock {
	l := s.names[name]
	if l == nil {
		l = &lock{name: name, suspect: map[string]time.Time{}, floors: map[contender]floor{}}
		s.names[name] = l
		s.sweep()
	}
	return l
}

// forget drops floors that expired, now and then.
func (l *lock) forget() {
	l.touched = time.Now()
	if len(l.floors) < l.sweepAt {
		return
	}
	for c, f := range l.floors {
		if l.touched.Sub(f.at) > floorTTL {
			delete(l.floors, c)
		}
	}
	l.sweepAt = 2*len(l.floors) + 16
}

// sweep drops a few names that are free and past their fence ttl, so that names
// used once do not stay for ever.
func (s *Store) sweep() {
	looked := 0
	for n, l := range s.names {
		if looked++; looked > 4 {
			return
		}
		if !l.held() && len(l.queue) == 0 && !l.touched.IsZero() && time.Since(l.touched) > fenceTTL {
			delete(s.names, n)
		}
	}
}

// admit refuses a request that was overtaken, and notes that the node is awake.
func (l *lock) admit(c contender, inc, seq uint64, numbered bool) bool {
	f := l.floors[c]
	node := l.floors[contender{node: c.node}]
	if inc < max(f.inc, node.inc) || numbered && inc == f.inc && seq < f.seq {
		return false
	}
	if numbered {
		l.floors[c] = floor{inc, seq, time.Now()}
	}
	if c.slot != "" { // it may be the floor of a contender: what that has asked stays
		if node.inc < inc {
			node = floor{inc: inc}
		}
		node.at = time.Now()
		l.floors[contender{node: c.node}] = node
	}
	delete(l.suspect, c.node)
	return true
}

// held: somebody has the name, or is left without it for a delay.
func (l *lock) held() bool {
	now := time.Now()
	l.holds = slices.DeleteFunc(l.holds, func(h *hold) bool { return !now.Before(h.until) })
	return len(l.holds) > 0
}

// heldBy is c's hold, nil if it has none.
func (l *lock) heldBy(c contender) *hold {
	l.held()
	for _, h := range l.holds {
		if h.by == c {
			return h
		}
	}
	return nil
}

// the is c's hold that begins with fence, nil if that is over.
func (l *lock) the(c contender, fence backend.Fence) *hold {
	if h := l.heldBy(c); h != nil && h.fence == fence {
		return h
	}
	return nil
}

// room: those who hold the name let in one more of that mode.
func (l *lock) room(m backend.Mode) bool {
	switch {
	case !l.held():
		return !time.Now().Before(l.delayed)
	case l.holds[0].mode != m || m == backend.Exclusive:
		return false
	default:
		return m == backend.Shared || len(l.holds) < int(m)
	}
}

// clashes: the name is of another kind as long as somebody holds it or waits for it.
func (s *Store) clashes(l *lock, m backend.Mode) bool {
	kind := func(m backend.Mode) backend.Mode { return max(m, backend.Exclusive) }
	if l.held() {
		return kind(l.holds[0].mode) != kind(m)
	}
	for _, e := range l.queue {
		if kind(e.req.Mode) == kind(m) {
			return false
		}
		if n := s.nodes[e.by.node]; n != nil && n.node.Incarnation == e.inc { // else nobody waits any more
			return true
		}
	}
	return false
}

// describe takes from r whose turn it is.
func (h *hold) describe(r backend.Request) {
	h.described, h.owner, h.count, h.turn, h.record = r.Seq, r.Owner, r.Count, r.Turn, r.Record
}

// free drops h. With a delay, nobody has what it had for so long.
func (l *lock) free(h *hold, delay time.Duration) {
	l.holds = slices.DeleteFunc(l.holds, func(x *hold) bool { return x == h })
	switch {
	case delay > 0 && h.mode != backend.Exclusive:
		l.holds = append(l.holds, &hold{mode: h.mode, fence: h.fence, until: time.Now().Add(delay)})
	case delay > 0:
		l.delayed = time.Now().Add(delay)
	}
}

// reserve takes the next turns fences.
func (l *lock) reserve(turns int, least backend.Fence) backend.Fence {
	f := l.next(least)
	l.top = f + backend.Fence(turns) - 1
	return f
}

// next is the fence after the newest one, and after least.
func (l *lock) next(least backend.Fence) backend.Fence {
	return max(l.top+1, backend.Fence(time.Now().UnixMicro()), least+1)
}

// spent is an error if there are no more fences for r.
func (l *lock) spent(r backend.Request) error {
	if f := l.next(r.Floor); f+backend.Fence(r.Turns)-1 > backend.MaxFence {
		return backend.Spent("the gateway's memory, from its journal,", fmt.Sprint(uint64(f-1)))
	}
	return nil
}

// lease makes the hold h, perhaps provisional, a lease by r.Owner.
func (l *lock) lease(h *hold, r backend.Request) backend.Answer {
	if h.provisional {
		h.provisional, h.until = false, time.Now().Add(r.TTL)
		h.owner, h.count, h.record, h.turn = r.Owner, max(r.Count, 1), r.Record, max(h.turn, r.Turn)
	}
	h.prolong(r.TTL)
	l.dequeue(h.by)
	return l.granted(h)
}

// prolong has the hold last for ttl from now on, or longer if it did already: a
// late repeat must not undo what a later request has set.
func (h *hold) prolong(ttl time.Duration) {
	if until := time.Now().Add(ttl); until.After(h.until) {
		h.until = until
	}
}

// granted is the answer that h is held.
func (l *lock) granted(h *hold) backend.Answer {
	return backend.Answer{Granted: true, Hold: h.fence, Block: h.block, Turns: h.turns, Others: l.othersWait(h.by)}
}

// withdraw takes back what the request attempt has left of c: its place in the
// queue, or what it was granted there.
func (l *lock) withdraw(c contender, attempt uint64) {
	if l.queued(c, attempt) {
		l.dequeue(c)
	}
	if h := l.heldBy(c); h != nil && h.seq == attempt {
		l.free(h, 0)
	}
}

func (l *lock) enqueue(c contender, inc uint64, r backend.Request) {
	until := time.Now().Add(r.TTL + time.Minute)
	if l.held() {
		until = l.last().until.Add(r.TTL + time.Minute)
	}
	i := slices.IndexFunc(l.queue, func(e entry) bool { return e.by == c })
	if i < 0 {
		i = l.place(c)
		l.queue = slices.Insert(l.queue, i, entry{})
	}
	l.queue[i] = entry{c, inc, until, r} // who is there keeps the place
}

// place is at the end. But who speaks for a whole node has callers who came before
// those of the node that stand in the queue by themselves.
func (l *lock) place(c contender) int {
	own := slices.IndexFunc(l.queue, func(e entry) bool { return e.by.node == c.node })
	if c.slot != "" || own < 0 {
		return len(l.queue)
	}
	return own
}

func (l *lock) dequeue(c contender) {
	l.queue = slices.DeleteFunc(l.queue, func(e entry) bool { return e.by == c })
}

func (l *lock) queued(c contender, seq uint64) bool {
	return slices.ContainsFunc(l.queue, func(e entry) bool { return e.by == c && e.req.Seq == seq })
}

func (l *lock) othersWait(c contender) bool {
	return slices.ContainsFunc(l.queue, func(e entry) bool { return e.by.node != c.node })
}

// last is the hold that ends last; there is one.
func (l *lock) last() *hold {
	return slices.MaxFunc(l.holds, func(a, b *hold) int { return a.until.Compare(b.until) })
}

// refusal is the answer to c, who cannot have the name now.
func (l *lock) refusal(c contender, m backend.Mode) backend.Answer {
	a := backend.Answer{
		Wait: max(time.Until(l.delayed), 0), Holder: l.status(),
		Ahead: slices.IndexFunc(l.queue, func(e entry) bool { return e.by == c }),
	}
	if l.held() {
		h := l.last()
		if m == l.holds[0].mode && m > 0 { // any of a semaphore's will do
			h = slices.MinFunc(l.holds, func(a, b *hold) int { return a.until.Compare(b.until) })
		}
		a.Wait, a.Provisional = time.Until(h.until), h.provisional
	}
	return a
}

func (l *lock) status() backend.Status {
	s := backend.Status{Name: l.name, Top: l.top}
	if l.held() {
		h := slices.MaxFunc(l.holds, func(a, b *hold) int { return cmp.Compare(a.fence, b.fence) })
		s.Held, s.Owner, s.Count, s.Node = true, h.owner, h.count, h.by.node
		s.Hold, s.Turn, s.TTL, s.Record = h.fence, max(h.turn, h.fence), time.Until(h.until), h.record
		s.Mode, s.Holders = h.mode, len(l.holds)
	} else if l.top == l.reserved {
		s.Top = l.given
	}
	for _, e := range l.queue {
		s.Waiters += max(e.req.Waiters, 1)
	}
	return s
}
