package memory

import (
	"slices"
	"time"

	"github.com/lockgw/lockgw/backend"
)

type contender struct{ node, slot string }

// lock is all that the store keeps for one name.
type lock struct {
	name     string
	hold     *hold
	delayed  time.Time // ungrantable until then
	queue    []entry   // by the time of entering
	suspect  map[string]bool
	floors   map[contender]floor
	top      backend.Fence // newest fence reserved
	given    backend.Fence // last fence of the last hold that was released,
	reserved backend.Fence // and top at that time
	sweepAt  int           // how many floors make it worth looking for old ones
	touched  time.Time
}

type hold struct {
	by          contender
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
		l = &lock{name: name, suspect: map[string]bool{}, floors: map[contender]floor{}}
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
		if l.held() == nil && len(l.queue) == 0 && !l.touched.IsZero() && time.Since(l.touched) > fenceTTL {
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
	if c.slot != "" {
		l.floors[contender{node: c.node}] = floor{inc: inc, at: time.Now()}
	}
	delete(l.suspect, c.node)
	return true
}

// held is the present hold, nil if the name is free.
func (l *lock) held() *hold {
	if l.hold != nil && !time.Now().Before(l.hold.until) {
		l.hold = nil
	}
	return l.hold
}

// describe takes from r whose turn it is.
func (h *hold) describe(r backend.Request) {
	h.described, h.owner, h.count, h.turn, h.record = r.Seq, r.Owner, r.Count, r.Turn, r.Record
}

func (l *lock) heldBy(c contender) bool {
	h := l.held()
	return h != nil && h.by == c
}

func (l *lock) free(delay time.Duration) {
	l.hold = nil
	if delay > 0 {
		l.delayed = time.Now().Add(delay)
	}
}

// reserve takes the next turns fences.
func (l *lock) reserve(turns int, least backend.Fence) backend.Fence {
	f := max(l.top+1, backend.Fence(time.Now().UnixMicro()), least+1)
	l.top = f + backend.Fence(turns) - 1
	return f
}

// lease makes the hold of c, perhaps provisional, a lease by r.Owner.
func (l *lock) lease(c contender, r backend.Request) backend.Answer {
	if h := l.hold; h.provisional {
		h.provisional, h.until = false, time.Now().Add(r.TTL)
		h.owner, h.count, h.record, h.turn = r.Owner, max(r.Count, 1), r.Record, max(h.turn, r.Turn)
	}
	l.prolong(r.TTL)
	l.dequeue(c)
	return l.granted(c)
}

// prolong has the hold last for ttl from now on, or longer if it did already: a
// late repeat must not undo what a later request has set.
func (l *lock) prolong(ttl time.Duration) {
	if until := time.Now().Add(ttl); until.After(l.hold.until) {
		l.hold.until = until
	}
}

// granted is the answer that c has the hold.
func (l *lock) granted(c contender) backend.Answer {
	h := l.hold
	return backend.Answer{Granted: true, Hold: h.fence, Block: h.block, Turns: h.turns, Others: l.othersWait(c)}
}

// withdraw takes back what the request attempt has left of c: its place in the
// queue, or what it was granted there.
func (l *lock) withdraw(c contender, attempt uint64) {
	if l.queued(c, attempt) {
		l.dequeue(c)
	}
	if l.heldBy(c) && l.hold.seq == attempt {
		l.free(0)
	}
}

func (l *lock) enqueue(c contender, inc uint64, r backend.Request) {
	until := time.Now().Add(r.TTL + time.Minute)
	if h := l.held(); h != nil {
		until = h.until.Add(r.TTL + time.Minute)
	}
	i := slices.IndexFunc(l.queue, func(e entry) bool { return e.by == c })
	if i < 0 {
		i = len(l.queue)
		l.queue = append(l.queue, entry{})
	}
	l.queue[i] = entry{c, inc, until, r} // who is there keeps the place
}

func (l *lock) dequeue(c contender) {
	l.queue = slices.DeleteFunc(l.queue, func(e entry) bool { return e.by == c })
}

func (l *lock) queued(c contender, seq uint64) bool {
	return slices.ContainsFunc(l.queue, func(e entry) bool { return e.by == c && e.req.Seq == seq })
}

func (l *lock) othersWait(c contender) bool {
	return slices.ContainsFunc(l.queue, func(e entry) bool { return e.by != c })
}

// refusal is the answer to who cannot have the name now.
func (l *lock) refusal() backend.Answer {
	if h := l.held(); h != nil {
		return backend.Answer{Wait: time.Until(h.until), Provisional: h.provisional, Holder: l.status()}
	}
	return backend.Answer{Wait: max(time.Until(l.delayed), 0), Holder: l.status()}
}

func (l *lock) status() backend.Status {
	s := backend.Status{Name: l.name, Top: l.top}
	if h := l.held(); h != nil {
		s.Held, s.Owner, s.Count, s.Node = true, h.owner, h.count, h.by.node
		s.Hold, s.Turn, s.TTL, s.Record = h.fence, max(h.turn, h.fence), time.Until(h.until), h.record
	} else if l.top == l.reserved {
		s.Top = l.given
	}
	for _, e := range l.queue {
		s.Waiters += max(e.req.Waiters, 1)
	}
	return s
}
