package session

import (
	"sync"
	"sync/atomic"
	"time"
)

// keptEvents is how many of the newest events can be told again.
const keptEvents = 1024

// Subscription delivers events until it is closed.
type Subscription struct {
	// C is closed when the subscription ends: by Close, or because its reader
	// fell too far behind. An event is the same for all subscriptions, and is not changed:
	// each has room for many, and there may be thousands of them.
	C       <-chan *Event
	c       chan *Event
	session string // "": all
	want    func(Event) bool
	bus     *bus
}

// Close ends the subscription.
func (s *Subscription) Close() { s.bus.drop(s) }

// bus hands events to subscribers, and keeps the newest for those who come back.
// Publishing never blocks, and what it costs does not depend on how many follow
// other sessions.
type bus struct {
	listeners atomic.Int32
	mu        sync.Mutex // guards the fields below
	last      EventID
	kept      []Event // a ring: see at
	all       subscribers
	of        map[string]subscribers // by session
}

type subscribers map[*Subscription]struct{}

// Subscribe delivers the events of all sessions that want accepts, from now on.
// A reader that falls more than buffer events behind is dropped.
func (b *bus) Subscribe(buffer int, want func(Event) bool) *Subscription {
	return b.Follow("", buffer, want)
}

// Follow is Subscribe to the events of the session with that ID; "": of all.
func (b *bus) Follow(id string, buffer int, want func(Event) bool) *Subscription {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.followLocked(id, buffer, want)
}

// Resume is Follow, without a choice of events, for a client that has heard of
// those up to seen. missed are those after seen that are still kept; C has none of
// them. If there may have been more (seen is too old, or was not given out by this
// process) missed are all that are kept, and complete is false.
func (b *bus) Resume(id string, buffer int, seen EventID) (s *Subscription, missed []Event, complete bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s = b.followLocked(id, buffer, func(Event) bool { return true })
	oldest := b.last.N - uint64(len(b.kept)) + 1
	complete = seen.Start == b.last.Start && seen.N+1 >= oldest && seen.N <= b.last.N
	first := oldest
	if complete {
		first = seen.N + 1
	}
	for n := first; n <= b.last.N; n++ {
		if e := b.kept[at(n)]; id == "" || e.Session == id {
			missed = append(missed, e)
		}
	}
	return s, missed, complete
}

func (b *bus) followLocked(id string, buffer int, want func(Event) bool) *Subscription {
	c := make(chan *Event, buffer)
	s := &Subscription{C: c, c: c, session: id, want: want, bus: b}
	if id == "" {
		b.all[s] = struct{}{}
	} else {
		if b.of[id] == nil {
			b.of[id] = subscribers{}
		}
		b.of[id][s] = struct{}{}
	}
	b.listeners.Add(1)
	return s
}

func (b *bus) start() {
	b.last.Start = time.Now().UnixMicro()
	b.all, b.of = subscribers{}, map[string]subscribers{}
}

func (b *bus) drop(s *Subscription) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.dropLocked(s)
}

func (b *bus) dropLocked(s *Subscription) {
	subs := b.all
	if s.session != "" {
		subs = b.of[s.session]
	}
	if _, ok := subs[s]; !ok {
		return
	}
	if delete(subs, s); s.session != "" && len(subs) == 0 {
		delete(b.of, s.session)
	}
	b.listeners.Add(-1)
	close(s.c)
}

// heard: somebody listens.
func (b *bus) heard() bool { return b.listeners.Load() > 0 }

func (b *bus) publish(e Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last.N++
	e.ID, e.Time = b.last, time.Now()
	b.keepLocked(e)
	b.tellLocked(b.all, e)
	b.tellLocked(b.of[e.Session], e)
}

func (b *bus) keepLocked(e Event) {
	if len(b.kept) < keptEvents {
		b.kept = append(b.kept, e)
		return
	}
	b.kept[at(e.ID.N)] = e
}

// at is where the event with that number is kept; the first has number 1.
func at(n uint64) uint64 { return (n - 1) % keptEvents }

func (b *bus) tellLocked(subs subscribers, e Event) {
	var told *Event // made for the first who wants it
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
