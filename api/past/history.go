// Package past is what the gateway tells over HTTP of what happened to callers, as its front
// writes it and `lockgw history` reads it. openapi.yaml says what each field means.
package past

import (
	"time"

	"github.com/lockgw/lockgw/backend"
)

// Person is who asked for a lock or held it, without times.
type Person struct {
	Owner   backend.Owner `json:"owner"`
	Node    string        `json:"node,omitempty"`
	PID     int           `json:"pid,omitempty"`
	Command string        `json:"command,omitempty"`
	UID     *int          `json:"uid,omitempty"` // nil: not known
	AskedBy *Asker        `json:"asked_by,omitempty"`
	Note    string        `json:"note,omitempty"`
}

// Asker is the process that asked for a hold that belongs to another.
type Asker struct {
	PID     int    `json:"pid"`
	Command string `json:"command,omitempty"`
	UID     *int   `json:"uid,omitempty"`
}

// History is what one lock's callers did.
type History struct {
	Name      string    `json:"name"`
	Node      string    `json:"node"`
	Since     time.Time `json:"since,omitzero"`
	Oldest    time.Time `json:"oldest,omitzero"` // of all that is kept
	Totals    Totals    `json:"totals"`
	Counted   int       `json:"counted"` // of the totals; they are no items
	Dropped   uint64    `json:"dropped"`
	Items     []Attempt `json:"items"`
	Elsewhere []Span    `json:"elsewhere"`
	Next      string    `json:"next"`
}

// Attempt is what one caller did with a lock, from its request to the end of its hold.
type Attempt struct {
	Person
	Mode       string    `json:"mode"`
	Asked      time.Time `json:"asked,omitzero"`
	WaitedMS   int64     `json:"waited_ms"`
	Granted    time.Time `json:"granted,omitzero"`
	HeldMS     int64     `json:"held_ms"`
	Ended      time.Time `json:"ended,omitzero"`
	Outcome    string    `json:"outcome"`
	Reason     string    `json:"reason,omitempty"`
	Fence      uint64    `json:"fence,omitempty"`
	Ahead      int       `json:"ahead"`                 // callers of this node that stood before it
	Behind     []Span    `json:"behind"`                // who held the lock while it waited
	BehindMore int       `json:"behind_more,omitempty"` // how many more, not listed
}

// Span is who held a lock, and when as far as that is known.
type Span struct {
	Person
	From  time.Time `json:"from,omitzero"`
	Until time.Time `json:"until,omitzero"`
}

// Contended is the locks that callers waited for most.
type Contended struct {
	Node    string          `json:"node"`
	Since   time.Time       `json:"since,omitzero"`
	Dropped uint64          `json:"dropped"`
	Items   []ContendedLock `json:"items"`
}

// ContendedLock is one of them.
type ContendedLock struct {
	Name string `json:"name"`
	Totals
}

// Totals sums up many attempts.
type Totals struct {
	Attempts int      `json:"attempts"`
	Refused  int      `json:"refused"`
	Lost     int      `json:"lost"`
	Waited   Quantity `json:"waited"`
	Held     Quantity `json:"held"`
}

// Quantity sums up how long many things took.
type Quantity struct {
	P50MS   int64 `json:"p50_ms"`
	P99MS   int64 `json:"p99_ms"`
	WorstMS int64 `json:"worst_ms"`
	TotalMS int64 `json:"total_ms"`
}
