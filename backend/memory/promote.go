package memory

import (
	"slices"
	"sync"
	"time"

	"github.com/lockgw/lockgw/backend"
)

// promote gives the name to the first reachable contender in the queue, and to those
// after it who may have it at the same time; last to those whose node let a provisional
// hold run out. The hold of asks, whose answer carries the grant, is a lease at once
// and is returned; any other has to be confirmed.
func (s *Store) promote(l *lock, asks *contender, r backend.Request) (granted *hold) {
	now := time.Now()
	l.queue = slices.DeleteFunc(l.queue, func(e entry) bool { return !now.Before(e.until) })
	for _, suspects := range []bool{false, true} {
		for _, e := range slices.Clone(l.queue) {
			n := s.nodes[e.by.node]
			asking := asks != nil && e.by == *asks
			reachable := asking || n != nil && n.node.Incarnation == e.inc
			switch {
			case l.suspected(e.by.node) != suspects && (!suspects || !asking), !reachable, l.heldBy(e.by) != nil:
			case !l.room(e.req.Mode):
				return granted // nobody overtakes it
			case l.spent(e.req) != nil:
				return granted
			case asking:
				granted = l.grant(e, r.Floor)
			default:
				s.offer(l, e, r.Floor)
			}
		}
	}
	return granted
}

// suspected: the node has let a provisional hold run out.
func (l *lock) suspected(node string) bool {
	till, ok := l.suspect[node]
	return ok && !time.Now().Before(till)
}

func (l *lock) grant(e entry, least backend.Fence) *hold {
	f := l.reserve(e.req.Turns, max(least, e.req.Floor))
	h := &hold{
		by: e.by, mode: e.req.Mode, inc: e.inc, seq: e.req.Seq, fence: f, block: f, turns: e.req.Turns, turn: f,
		owner: e.req.Owner, count: 1, record: e.req.Record, until: time.Now().Add(e.req.TTL),
	}
	l.holds, l.granting = append(l.holds, h), true
	return h
}

// offer passes the name to e, which has to be confirmed within the window.
func (s *Store) offer(l *lock, e entry, least backend.Fence) {
	h := l.grant(e, least)
	h.provisional, h.until = true, time.Now().Add(Window)
	l.suspect[e.by.node] = h.until // until it asks for something
	s.nodes[e.by.node].inbox.put(backend.Hint{Kind: backend.HintGranted, Name: l.name, Slot: e.by.slot, Fence: h.fence})
	s.tellSecond(l, e.by)
}

// tellSecond has the next in the queue watch the provisional hold of c.
func (s *Store) tellSecond(l *lock, c contender) {
	for _, e := range l.queue {
		if e.by.node == c.node {
			continue
		}
		if n := s.nodes[e.by.node]; n != nil {
			n.inbox.put(backend.Hint{Kind: backend.HintWatch, Name: l.name, Slot: e.by.slot, After: Window})
			return
		}
	}
}

// tellHolder lets the holding node know that another one waits.
func (s *Store) tellHolder(l *lock, c contender) {
	if !l.held() || l.holds[0].by.node == c.node {
		return
	}
	h := l.holds[0]
	if n := s.nodes[h.by.node]; n != nil && n.node.Incarnation == h.inc {
		n.inbox.put(backend.Hint{Kind: backend.HintOthers, Name: l.name, Slot: h.by.slot})
	}
}

// inbox delivers hints in order, without holding up who sends them.
type inbox struct {
	mu    sync.Mutex // guards the fields below
	f     func(backend.Hint)
	hints []backend.Hint
	busy  bool
	wg    sync.WaitGroup
}

func (b *inbox) start(f func(backend.Hint)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.f = f
}

func (b *inbox) stop() {
	b.mu.Lock()
	b.f, b.hints = nil, nil
	b.mu.Unlock()
	b.wg.Wait()
}

func (b *inbox) put(h backend.Hint) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.f == nil {
		return
	}
	b.hints = append(b.hints, h)
	if !b.busy {
		b.busy = true
		b.wg.Go(b.deliver)
	}
}

func (b *inbox) deliver() {
	for {
		b.mu.Lock()
		if len(b.hints) == 0 {
			b.busy = false
			b.mu.Unlock()
			return
		}
		h, f := b.hints[0], b.f
		b.hints = b.hints[1:]
		b.mu.Unlock()
		f(h)
	}
}
