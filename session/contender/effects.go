package contender

import (
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

// Effects are what has to be done after an event, in this order.
type Effects struct {
	// Journal has to be written before anything else is done.
	Journal []Entry
	// Granted are let in: they may be told, by Accept.
	Granted []*Caller
	// Queued have to wait, as is known now, and are Curious.
	Queued []*Caller
	// Ended are over.
	Ended []Ended
	// Written are callers of whom the store knows now what was asked to be written
	// (SetEntries).
	Written []*Caller
	// Send is to be sent to the store, and its answer given to Reply.
	Send *Request
	// Renew is to be sent to the store, and its answer given to Renewed.
	Renew *ledger.Renewal
	// Ask has nodes asked how many of their callers have the name or wait for it, and the
	// answer given to Told, once.
	Ask []string
	// Jeopardy: a renewal got no answer; the hold still stands.
	Jeopardy bool
	// Timer is when Tick has to be called; 0: never.
	Timer time.Duration
}

// Ended is a caller whose wait or hold is over.
type Ended struct {
	Caller *Caller
	Reason Reason
}

// Reason why a caller's wait or hold is over.
type Reason int

const (
	// Held: it did not want to wait, and another has the name.
	Held Reason = iota + 1
	// Conflict: the name is in use as something else.
	Conflict
	// Expired: the deadline has passed.
	Expired
	// Gone: the store does not have the hold any more.
	Gone
	// ByForce: it was ended by an administrator.
	ByForce
	// MaxHold: it was held for as long as it may be.
	MaxHold
	// Full: as many callers wait as may.
	Full
	// Refused: it did not want to wait, and the store does not serve now.
	Refused
	// Failed: the store has answered with an error of its own.
	Failed
)

// String names the reason.
func (r Reason) String() string {
	switch r {
	case Held:
		return "held"
	case Conflict:
		return "conflict"
	case Expired:
		return "expired"
	case Gone:
		return "gone"
	case ByForce:
		return "by force"
	case MaxHold:
		return "max hold"
	case Full:
		return "full"
	case Refused:
		return "refused"
	case Failed:
		return "failed"
	default:
		return "none"
	}
}

// Entry is what the journal is told.
type Entry struct {
	Kind   EntryKind
	Caller *Caller
	// Hold is what the store has granted, Deadline when that is over; of an End, in the store.
	Hold     backend.Fence
	Deadline time.Duration
	// Reason, of an End: why it was lost; 0: it was given back.
	Reason Reason
}

// EntryKind of an Entry.
type EntryKind int

const (
	// Intent: something of this node may be in the store from now on.
	Intent EntryKind = iota + 1
	// Clear: nothing is.
	Clear
	// LetIn: Caller has Caller.Fence under Hold, and is about to be told. What follows
	// comes only for callers of whom this was said.
	LetIn
	// Released: Caller has given it back, and it is Kept.
	Released
	// End of what Caller has.
	End
	// Deadline: that of what Caller has is Entry.Deadline from now on. There is one for
	// each who has something.
	Deadline
	// Lease: Caller.TTL, Caller.Fixed and Caller.Until are others now.
	Lease
)

// Request to the store: a Swap, a Join or a Look.
type Request struct {
	Swap *ledger.Swap
	Join *ledger.Entry
	// SentAt is when it left the machine, or earlier.
	SentAt time.Duration
	// Floor of the fences.
	Floor backend.Fence

	verb     ledger.Verb
	ttl      time.Duration
	describe bool
	bar      bool
	had      int           // permits, as it was sent
	until    time.Duration // when what we had was over, as it was sent
	base     ledger.Version
}

// Writes: it may change what the store has.
func (q *Request) Writes() bool { return q.Swap != nil || q.Join != nil }

// What names the request.
func (q *Request) What() string {
	switch {
	case q.Swap != nil:
		return q.verb.String()
	case q.Join != nil:
		return "join"
	default:
		return "look"
	}
}
