// Package memory is a store inside the process: the gateway's default, for the
// locks of one machine, and the plainest statement of what a store has to do.
// Its rules are those of the scripts of backend/redis, step by step.
package memory

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/lockgw/lockgw/backend"
)

// Window is how long a provisional hold lasts.
const Window = time.Second

const (
	floorTTL = time.Minute    // longer than any request can be under way
	fenceTTL = 72 * time.Hour // after that the clock is larger than any fence
)

// Store holds the names. Several nodes may share one, in tests.
type Store struct {
	mu    sync.Mutex // guards the fields below and every lock
	names map[string]*lock
	nodes map[string]*Backend // by ID; the newest incarnation that listens
	until time.Time           // nothing is granted before
}

// NewStore makes an empty store.
func NewStore() *Store {
	return &Store{names: map[string]*lock{}, nodes: map[string]*Backend{}}
}

// Pause has the store grant nothing for so long: somebody may hold what it does not know
// of, because the process that granted it has ended and nothing was kept.
func (s *Store) Pause(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.until = time.Now().Add(d)
}

// paused is why nothing is granted, nil if the store is not paused.
func (s *Store) paused() error {
	left := time.Until(s.until)
	if s.until.IsZero() || left <= 0 {
		return nil
	}
	return &backend.Later{After: left, Err: fmt.Errorf("%w: the journal of the process before this one was lost, and with it who holds what; "+
		"by %s all that was held then is released or has run out, and locks are granted again", backend.ErrRefused, s.until.Format(time.TimeOnly))}
}

// Backend is a Store as one node sees it.
type Backend struct {
	store *Store
	node  backend.Node
	inbox inbox
}

var _ backend.Backend = (*Backend)(nil)

// Open makes the Backend of a node.
func Open(s *Store, n backend.Node) *Backend {
	return &Backend{store: s, node: n}
}

// Info implements backend.Backend.
func (b *Backend) Info() backend.Info {
	return backend.Info{Type: "memory", Fencing: true, Queue: true, Push: true, Modes: true}
}

// Listen implements backend.Backend.
func (b *Backend) Listen(f func(backend.Hint)) {
	b.inbox.start(f)
	b.store.mu.Lock()
	defer b.store.mu.Unlock()
	b.store.nodes[b.node.ID] = b
}

// Close implements backend.Backend.
func (b *Backend) Close() error {
	b.store.mu.Lock()
	if b.store.nodes[b.node.ID] == b {
		delete(b.store.nodes, b.node.ID)
	}
	b.store.mu.Unlock()
	b.inbox.stop()
	return nil
}

// Ping implements backend.Backend.
func (b *Backend) Ping(context.Context) error {
	b.store.mu.Lock()
	defer b.store.mu.Unlock()
	return b.store.paused()
}

// sender is the contender that a request comes from.
func (b *Backend) sender(r backend.Request) contender { return contender{b.node.ID, r.Slot} }

// change runs f on the lock of r, unless a later request of the sender has been
// seen. numbered: r.Seq counts.
func (b *Backend) change(r backend.Request, numbered bool, f func(*lock) (backend.Answer, error)) (backend.Answer, error) {
	s := b.store
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.lock(r.Name)
	defer l.forget()
	if !l.admit(b.sender(r), b.node.Incarnation, r.Seq, numbered) {
		return backend.Answer{}, backend.ErrStale
	}
	return f(l)
}

// Acquire implements backend.Backend.
func (b *Backend) Acquire(_ context.Context, r backend.Request) (backend.Answer, error) {
	return b.change(r, true, func(l *lock) (backend.Answer, error) {
		if err := b.store.paused(); err != nil {
			return backend.Answer{}, err
		}
		return b.contend(l, r)
	})
}

// contend is what Acquire and the requests that queue have in common.
func (b *Backend) contend(l *lock, r backend.Request) (backend.Answer, error) {
	me := b.sender(r)
	if h := l.heldBy(me); h != nil {
		if h.seq == r.Seq && h.inc == b.node.Incarnation {
			return l.lease(h, r), nil
		}
		l.free(h, 0)
	}
	if b.store.clashes(l, r.Mode) {
		l.dequeue(me)
		b.store.promote(l, nil, r)
		return backend.Answer{}, backend.ErrConflict
	}
	if err := l.spent(r); err != nil {
		l.dequeue(me)
		return backend.Answer{}, err
	}
	l.enqueue(me, b.node.Incarnation, r)
	if h := b.store.promote(l, &me, r); h != nil {
		return l.lease(h, r), nil
	}
	a := l.refusal(me, r.Mode)
	if a.Queued = r.Queue; !r.Queue {
		l.dequeue(me)
		return a, backend.ErrHeld
	}
	b.store.tellHolder(l, me)
	return a, nil
}

// Confirm implements backend.Backend.
func (b *Backend) Confirm(_ context.Context, r backend.Request) (backend.Answer, error) {
	return b.change(r, false, func(l *lock) (backend.Answer, error) {
		h := l.the(b.sender(r), r.Hold)
		if h == nil {
			return backend.Answer{}, backend.ErrNotHeld
		}
		return l.lease(h, r), nil
	})
}

// Extend implements backend.Backend.
func (b *Backend) Extend(_ context.Context, r backend.Request) (backend.Answer, error) {
	return b.change(r, true, func(l *lock) (backend.Answer, error) {
		me := b.sender(r)
		h := l.heldBy(me)
		switch {
		case r.Queue && h != nil && h.seq == r.Seq, r.Queue && l.queued(me, r.Seq):
			return b.contend(l, r) // a repeat: it has let go already
		case h == nil || h.fence != r.Hold:
			return backend.Answer{}, backend.ErrNotHeld
		case h.block != r.Block: // a repeat: the block is reserved
		case l.spent(r) != nil:
			return backend.Answer{}, l.spent(r)
		case l.othersWait(me) && r.Queue:
			l.free(h, 0)
			return b.contend(l, r)
		case l.othersWait(me):
			h.prolong(r.TTL)
			return backend.Answer{Hold: h.fence, Others: true}, nil
		default:
			h.block, h.turns = l.reserve(r.Turns, r.Floor), r.Turns
		}
		h.prolong(r.TTL)
		return l.granted(h), nil
	})
}

// Release implements backend.Backend.
func (b *Backend) Release(_ context.Context, r backend.Request) (backend.Answer, error) {
	return b.change(r, true, func(l *lock) (backend.Answer, error) {
		me := b.sender(r)
		if h := l.the(me, r.Hold); h != nil {
			if h.mode == backend.Exclusive {
				l.given, l.reserved = max(r.Turn, h.fence), l.top
			}
			l.free(h, r.Delay)
		}
		if r.Queue {
			return b.contend(l, r)
		}
		l.withdraw(me, r.Attempt)
		return b.passOn(l, r), nil
	})
}

// passOn gives a free name to the next contender and tells until when it has to
// confirm.
func (b *Backend) passOn(l *lock, r backend.Request) backend.Answer {
	b.store.promote(l, nil, r)
	l.held()
	for _, h := range l.holds {
		if h.provisional {
			return backend.Answer{Provisional: true, Wait: time.Until(h.until)}
		}
	}
	return backend.Answer{}
}

// Cancel implements backend.Backend.
func (b *Backend) Cancel(_ context.Context, r backend.Request) error {
	_, err := b.change(r, true, func(l *lock) (backend.Answer, error) {
		me := b.sender(r)
		if h := l.the(me, r.Hold); h != nil {
			l.dequeue(me)
			l.free(h, 0)
		}
		l.withdraw(me, r.Attempt)
		return b.passOn(l, r), nil
	})
	return err
}

// Reclaim implements backend.Backend.
func (b *Backend) Reclaim(_ context.Context, r backend.Request) (backend.Answer, error) {
	return b.change(r, true, func(l *lock) (backend.Answer, error) {
		me, inc := b.sender(r), b.node.Incarnation
		if err := l.spent(r); err != nil {
			return backend.Answer{}, err
		}
		l.dequeue(me)
		if r.Hold != 0 && !l.granting && l.heldBy(me) == nil && l.room(r.Mode) { // the store that granted it has ended with the process
			l.holds = append(l.holds, &hold{by: me, mode: r.Mode, fence: r.Hold, until: time.Now().Add(r.TTL)})
			l.top = max(l.top, r.Floor, r.Hold)
		}
		h := l.heldBy(me)
		if h != nil && h.fence == r.Hold {
			if h.inc != inc || h.seq != r.Seq { // else a repeat
				h.inc, h.seq, h.provisional = inc, r.Seq, false
				h.block, h.turns = l.reserve(r.Turns, r.Floor), r.Turns
				h.describe(r)
			}
			h.prolong(r.TTL)
			return l.granted(h), nil
		}
		if h != nil {
			l.free(h, 0)
		}
		return b.passOn(l, r), nil
	})
}

// Break implements backend.Backend.
func (b *Backend) Break(_ context.Context, r backend.Request) (backend.Answer, error) {
	return b.change(r, false, func(l *lock) (backend.Answer, error) {
		if !l.held() {
			return backend.Answer{}, backend.ErrNotHeld
		}
		i := slices.IndexFunc(l.holds, func(h *hold) bool { return r.Turn == max(h.turn, h.fence) })
		if i < 0 {
			return backend.Answer{}, backend.ErrFence
		}
		h := l.holds[i]
		if n := b.store.nodes[h.by.node]; n != nil && n.node.Incarnation == h.inc {
			n.inbox.put(backend.Hint{Kind: backend.HintBroken, Name: l.name, Slot: h.by.slot, Fence: h.fence})
		}
		if h.mode == backend.Exclusive {
			l.given, l.reserved = r.Turn, l.top
		}
		l.free(h, r.Delay)
		return b.passOn(l, r), nil
	})
}

// Promote implements backend.Backend.
func (b *Backend) Promote(_ context.Context, name string) (backend.Answer, error) {
	r := backend.Request{Name: name}
	return b.change(r, false, func(l *lock) (backend.Answer, error) { return b.passOn(l, r), nil })
}

// Describe implements backend.Backend.
func (b *Backend) Describe(_ context.Context, r backend.Request) error {
	_, err := b.change(r, false, func(l *lock) (backend.Answer, error) {
		h := l.the(b.sender(r), r.Hold)
		if h == nil {
			return backend.Answer{}, backend.ErrNotHeld
		}
		if r.Seq >= h.described {
			h.describe(r)
		}
		return backend.Answer{}, nil
	})
	return err
}

// Renew implements backend.Backend.
func (b *Backend) Renew(_ context.Context, rs []backend.Renewal) ([]error, error) {
	b.store.mu.Lock()
	defer b.store.mu.Unlock()
	errs := make([]error, len(rs))
	for i, r := range rs {
		errs[i] = backend.ErrNotHeld
		if l := b.store.names[r.Name]; l != nil {
			if h := l.the(contender{b.node.ID, r.Slot}, r.Hold); h != nil {
				errs[i] = nil
				h.prolong(r.TTL)
			}
		}
	}
	return errs, nil
}
