package memory

import (
	"slices"
	"sync"
	"time"

	"github.com/lockgw/lockgw/backend"
)

// promote gives a free name to the first reachable contender in the queue, those
// last whose node let a provisional hold run out. For asks, whose answer carries
// the grant, the hold is a lease at once and the result is true; any other has
// to confirm.
func (s *Store) promote(l *lock, asks *contender, r backend.Request) bool {
	now := time.Now()
	if l.held() != nil || now.Before(l.delayed) {
		return false
	}
	l.queue = slices.DeleteFunc(l.queue, func(e entry) bool { return !now.Before(e.until) })
	for _, suspects := range []bool{false, true} {
		for i, e := range l.queue {
			if l.suspect[e.by.node] != suspects {
				continue
			}
			if asks != nil && e.by == *asks {
				l.grant(e, r.Floor)
				return true
			}
			if n := s.nodes[e.by.node]; n != nil && n.node.Incarnation == e.inc {
				l.grant(e, r.Floor)
				l.hold.provisional, l.hold.until = true, now.Add(Window)
				l.suspect[e.by.node] = true // until it asks for something
				n.inbox.put(backend.Hint{Kind: backend.HintGranted, Name: l.name, Slot: e.by.slot, Fence: l.hold.fence})
				s.tellSecond(l, i)
				return false
			}
		}
	}
	return false
}

func (l *lock) grant(e entry, least backend.Fence) {
	f := l.reserve(e.req.Turns, max(least, e.req.Floor))
	l.hold = &hold{
		by: e.by, inc: e.inc, seq: e.req.Seq, fence: f, block: f, turns: e.req.Turns, turn: f,
		owner: e.req.Owner, count: 1, record: e.req.Record, until: time.Now().Add(e.req.TTL),
	}
}

// tellSecond has the next in the queue watch the provisional hold of the i-th.
func (s *Store) tellSecond(l *lock, i int) {
	for _, e := range l.queue {
		if e.by.node == l.queue[i].by.node {
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
	h := l.held()
	if h == nil || h.by.node == c.node {
		return
	}
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
