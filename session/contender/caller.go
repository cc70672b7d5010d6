package contender

import (
	"time"

	"github.com/lockgw/lockgw/backend"
)

// Caller is one who wants the name, or has it.
type Caller struct {
	// Mode, TTL and so on are what it asked for. A Contender changes them only where
	// Hurry, Loosen, Prolong and Release say so.
	Mode backend.Mode
	TTL  time.Duration
	// Fixed: the lease ends after TTL; no watchdog.
	Fixed bool
	// NoWait: an answer is wanted now.
	NoWait bool
	// MinHold is how long the name is kept even if it is released earlier; MaxHold how
	// long it may be held at all; 0: no such limit.
	MinHold, MaxHold time.Duration
	Owner            backend.Owner
	About            string
	// Curious: it wants to hear, once, that it has to wait.
	Curious bool
	// Data is for who made the caller.
	Data any

	// What follows is set once it is let in, and has to come back with Past. From the
	// entry LetIn on, the journal has it.

	// Ahead is how many waited at this node already when it came.
	Ahead   int
	Fence   backend.Fence
	Entries int
	// Since is when it was let in, in microseconds of the store's clock; 0: that is not known.
	Since int64
	// Until is when a fixed lease is over, MaxHoldAt when it was held for as long as it
	// may be, MinHoldAt until when it is kept; 0: there is no such time.
	Until, MaxHoldAt, MinHoldAt time.Duration
	// Kept: it was released, and is kept until MinHoldAt.
	Kept bool
	// Late is for how long its hold had been over when it was lost: nobody looked at the clock, as the
	// process did not run.
	Late time.Duration

	phase  phase
	came   int64 // in microseconds of the store's clock
	seen   bool  // an answer of the store has come since it entered
	asked  bool  // a request has gone out since
	queued bool  // it has heard that it has to wait
	settle bool  // the store has to be told of its lease before it is told
	sent   int   // entries, as the last write had them that was sent since it was let in; 0: there was none
	stale  bool  // the store has to be told of Entries
}

type phase int

const (
	waiting phase = iota
	granted
	told
	kept
	over
)
