package session

import (
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/session/events"
)

// EventType is what happened to a hold or a session.
type EventType string

// The events. A hold is lost at most once, and never after it was released.
const (
	EventQueued       EventType = "queued" // only while somebody listens
	EventAcquired     EventType = "acquired"
	EventRenewed      EventType = "renewed"
	EventJeopardy     EventType = "jeopardy"
	EventLost         EventType = "lost"
	EventReleased     EventType = "released"
	EventSessionEnded EventType = "session_ended"
)

// Event tells one thing that happened on this node.
type Event struct {
	ID      events.ID
	Type    EventType
	Time    time.Time
	Session string // ID of the session
	Lock    string
	Owner   backend.Owner
	Thread  int64
	Fence   backend.Fence
	Reason  string // of lost and session_ended
	// Holder is who holds, held or waits; nil of what happened to a session.
	Holder *Holder
}

// Subscription delivers events until it is closed.
type Subscription = events.Subscription[Event]

// Subscribe delivers the events of all sessions that want accepts, from now on.
// A reader that falls more than buffer events behind is dropped.
func (m *Manager) Subscribe(buffer int, want func(Event) bool) *Subscription {
	return m.Follow("", buffer, want)
}

// Follow is Subscribe to the events of the session with that ID; "": of all.
func (m *Manager) Follow(id string, buffer int, want func(Event) bool) *Subscription {
	return m.events.Follow(id, buffer, want)
}

// Resume is Follow for a client that comes back, see events.Bus.
func (m *Manager) Resume(id string, buffer int, seen events.ID) (s *Subscription, missed []Event, complete bool) {
	return m.events.Resume(id, buffer, seen)
}

// publish tells e to those who listen.
func (m *Manager) publish(e Event) {
	m.events.Publish(e.Session, func(id events.ID) Event {
		e.ID, e.Time = id, time.Now()
		return e
	})
}

// event tells what happened to the hold l.
func (m *Manager) event(t EventType, l *Lease, reason string) {
	who := l.holderNow()
	who.Since = who.Since.UTC()
	m.publish(Event{
		Type: t, Session: l.s.id, Lock: l.name, Owner: l.c.Owner, Thread: l.thread, Fence: l.c.Fence, Reason: reason, Holder: &who,
	})
}
