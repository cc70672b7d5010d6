package session

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/lockgw/lockgw/backend"
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
	ID      EventID
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

// EventID names an event. The zero value names none.
type EventID struct {
	// Start tells the processes of a gateway apart: the numbers of each begin anew.
	Start int64
	// N rises by one from event to event.
	N uint64
}

// String is the form in which clients keep an id, to be read by ParseEventID.
func (id EventID) String() string { return fmt.Sprintf("%d-%d", id.Start, id.N) }

// MarshalText is String.
func (id EventID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText is ParseEventID.
func (id *EventID) UnmarshalText(b []byte) (err error) {
	*id, err = ParseEventID(string(b))
	return err
}

var errEventID = errors.New("not the id of an event")

// ParseEventID reads what String has written.
func ParseEventID(s string) (EventID, error) {
	start, n, _ := strings.Cut(s, "-")
	var id EventID
	var err error
	if id.Start, err = strconv.ParseInt(start, 10, 64); err != nil {
		return EventID{}, errEventID
	}
	if id.N, err = strconv.ParseUint(n, 10, 64); err != nil {
		return EventID{}, errEventID
	}
	return id, nil
}
