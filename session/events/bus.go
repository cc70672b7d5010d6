// Package events hands what happens to those who follow it, and keeps the newest for those who
// come back. What an event tells is decided by who publishes it.
package events

import (
	"sync"
	"sync/atomic"
	"time"
)

// kept is how many of the newest events can be told again.
const kept = 1024

// Subscription delivers events until it is closed.
type Subscription[E any] struct {
	// C is closed when the subscription ends: by Close, or because its reader
	// fell too far behind. An event is the same for all subscriptions, and is not changed:
	// each has room for many, and there may be thousands of them.
	C     <-chan *E
	c     chan *E
	about string // "": all
	want  func(E) bool
	bus   *Bus[E]
}

// Close ends the subscription.
func (s *Subscription[E]) Close() { s.bus.drop(s) }

// Bus hands events to subscribers, and keeps the newest. Publishing never blocks, and what
// it costs does not depend on how many follow what other events are about. Use New.
type Bus[E any] struct {
	listeners atomic.Int32
	mu        sync.Mutex // guards the fields below
	last      ID
	ring      []one[E] // see at
	all       subscribers[E]
	of        map[string]subscribers[E] // by what they follow
}

// one is an event that is kept.
type one[E any] struct {
	about string
	event E
}

type subscribers[E any] map[*Subscription[E]]struct{}

// New makes a Bus, which nobody follows yet.
func New[E any]() *Bus[E] {
	return &Bus[E]{last: ID{Start: time.Now().UnixMicro()}, all: subscribers[E]{}, of: map[string]subscribers[E]{}}
}

// Follow delivers, from now on, the events about that ("": all) that want accepts. A reader
// that falls more than buffer events behind is dropped.
func (b *Bus[E]) Follow(about string, buffer int, want func(E) bool) *Subscription[E] {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.followLocked(about, buffer, want)
}

// Resume is Follow, without a choice of events, for a client that has heard of
// those up to seen. missed are those after seen that are still kept; C has none of
// them. If there may have been more (seen is too old, or was not given out by this
// Bus) missed are all that are kept, and complete is false.
func (b *Bus[E]) Resume(about string, buffer int, seen ID) (s *Subscription[E], missed []E, complete bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s = b.followLocked(about, buffer, func(E) bool { return true })
	oldest := b.last.N - uint64(len(b.ring)) + 1
	complete = seen.Start == b.last.Start && seen.N+1 >= oldest && seen.N <= b.last.N
	first := oldest
	if complete {
		first = seen.N + 1
	}
	for n := first; n <= b.last.N; n++ {
		if o := &b.ring[at(n)]; about == "" || o.about == about {
			missed = append(missed, o.event)
		}
	}
	return s, missed, complete
}

func (b *Bus[E]) followLocked(about string, buffer int, want func(E) bool) *Subscription[E] {
	c := make(chan *E, buffer)
	s := &Subscription[E]{C: c, c: c, about: about, want: want, bus: b}
	if about == "" {
		b.all[s] = struct{}{}
	} else {
		if b.of[about] == nil {
			b.of[about] = subscribers[E]{}
		}
		b.of[about][s] = struct{}{}
	}
	b.listeners.Add(1)
	return s
}

func (b *Bus[E]) drop(s *Subscription[E]) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.dropLocked(s)
}

func (b *Bus[E]) dropLocked(s *Subscription[E]) {
	subs := b.all
	if s.about != "" {
		subs = b.of[s.about]
	}
	if _, ok := subs[s]; !ok {
		return
	}
	if delete(subs, s); s.about != "" && len(subs) == 0 {
		delete(b.of, s.about)
	}
	b.listeners.Add(-1)
	close(s.c)
}

// Heard: somebody listens.
func (b *Bus[E]) Heard() bool { return b.listeners.Load() > 0 }

// Publish tells the event that made returns, which is given its ID and must not block.
func (b *Bus[E]) Publish(about string, made func(ID) E) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last.N++
	o := one[E]{about, made(b.last)}
	b.keepLocked(o)
	b.tellLocked(b.all, o.event)
	b.tellLocked(b.of[about], o.event)
}

func (b *Bus[E]) keepLocked(o one[E]) {
	if len(b.ring) < kept {
		b.ring = append(b.ring, o)
		return
	}
	b.ring[at(b.last.N)] = o
}

// at is where the event with that number is kept; the first has number 1.
func at(n uint64) uint64 { return (n - 1) % kept }

func (b *Bus[E]) tellLocked(subs subscribers[E], e E) {
	var told *E // made for the first who wants it
	for s := range subs {
		if !s.want(e) {
			continue
		}
		if told == nil {
			once := e
			told = &once
		}
		select {
		case s.c <- told:
		default:
			b.dropLocked(s)
		}
	}
}
