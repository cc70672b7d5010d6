package session

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockgw/lockgw/backend"
)

// EventType is what happened to a hold or a session.
type EventType string

// The events. A hold is lost at most once, and never after it was released.
const (
	EventQueued       EventType = "queued"
	EventAcquired     EventType = "acquired"
	EventRenewed      EventType = "renewed"
	EventJeopardy     EventType = "jeopardy"
	EventLost         EventType = "lost"
	EventReleased     EventType = "released"
	EventSessionEnded EventType = "session_ended"
)

// Event tells one thing that happened on this node.
type Event struct {
	ID      uint64 // rises from event to event
	Type    EventType
	Time    time.Time
	Session string // ID of the session
	Lock    string
	Owner   backend.Owner
	Thread  int64
	Fence   backend.Fence
	Reason  string // of lost and session_ended
}

// Subscription delivers events until it is closed.
type Subscription struct {
	// C is closed when the subscription ends: by Close, or because its reader
	// fell too far behind.
	C    <-chan Event
	c    chan Event
	want func(Event) bool
	bus  *bus
}

// Close ends the subscription.
func (s *Subscription) Close() { s.bus.drop(s) }

// bus hands events to subscribers. Publishing never blocks, and costs one
// atomic load when nobody listens.
type bus struct {
	listeners atomic.Int32
	mu        sync.Mutex // guards the fields below
	last      uint64
	subs      map[*Subscription]struct{}
}

// Subscribe delivers the events that want accepts, from now on. A reader that
// falls more than buffer events behind is dropped.
func (b *bus) Subscribe(buffer int, want func(Event) bool) *Subscription {
	c := make(chan Event, buffer)
	s := &Subscription{C: c, c: c, want: want, bus: b}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.subs == nil {
		b.subs = map[*Subscription]struct{}{}
	}
	b.subs[s] = struct{}{}
	b.listeners.Add(1)
	return s
}

func (b *bus) drop(s *Subscription) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.dropLocked(s)
}

func (b *bus) dropLocked(s *Subscription) {
	if _, ok := b.subs[s]; ok {
		delete(b.subs, s)
		b.listeners.Add(-1)
		close(s.c)
	}
}

// heard: somebody listens.
func (b *bus) heard() bool { return b.listeners.Load() > 0 }

func (b *bus) publish(e Event) {
	if !b.heard() {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last++
	e.ID, e.Time = b.last, time.Now()
	for s := range b.subs {
		if !s.want(e) {
			continue
		}
		select {
		case s.c <- e:
		default:
			b.dropLocked(s)
		}
	}
}
