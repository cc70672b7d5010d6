package session

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/lockgw/lockgw/backend"
)

// Code names what went wrong, the same word on every front.
type Code string

// The codes that come from this package. Fronts add those of their protocol.
const (
	CodeInvalid         Code = "invalid"           // a bad argument; Detail says which and why
	CodeNoSession       Code = "no_session"        // no token, or one never given out
	CodeSessionEnded    Code = "session_ended"     // a token whose session is over
	CodeLocked          Code = "locked"            // another holds the name and no wait was asked
	CodeWaitTimeout     Code = "wait_timeout"      // another held the name for all of the wait
	CodeNotOwner        Code = "not_owner"         // the session does not hold the name
	CodeLost            Code = "lost"              // the session held the name and lost it
	CodeConflict        Code = "conflict"          // contradicts what is there
	CodeFenceMismatch   Code = "fence_mismatch"    // the fence is not the newest grant
	CodeTooManyWaiters  Code = "too_many_waiters"  // a limit on waits
	CodeTooManySessions Code = "too_many_sessions" // the limit on sessions
	CodeTooManyHolds    Code = "rate_limited"      // the limit on holds of a session
	CodeUnsupported     Code = "unsupported"       // this store, or this version, cannot do it
	CodeUnavailable     Code = "unavailable"       // the store cannot be asked; nothing is held
	CodeOutcomeUnknown  Code = "outcome_unknown"   // an acquire that is being undone
	CodeDraining        Code = "draining"          // the gateway is going away
	CodeInternal        Code = "internal"          // a defect
)

// Codes lists every code of this package, for the fronts' tables.
func Codes() []Code {
	return []Code{
		CodeInvalid, CodeNoSession, CodeSessionEnded, CodeLocked, CodeWaitTimeout, CodeNotOwner,
		CodeLost, CodeConflict, CodeFenceMismatch, CodeTooManyWaiters, CodeTooManySessions,
		CodeTooManyHolds, CodeUnsupported, CodeUnavailable, CodeOutcomeUnknown, CodeDraining, CodeInternal,
	}
}

// Error is every error of this package that a caller may see.
type Error struct {
	Code   Code
	Detail string // a sentence for the person who reads it
	Lock   string // the name, where there is one
	// Holder has the name now, where that is known.
	Holder *Holder
	// Position is the caller's place in this node's queue, 1 is next; 0: unknown.
	Position int
	// RetryAfter is when it makes sense to ask again; 0: unknown.
	RetryAfter time.Duration
	// Left is how long the hold still stands, with CodeUnavailable of a renewal.
	Left time.Duration
}

func (e *Error) Error() string {
	if e.Lock == "" {
		return fmt.Sprintf("%s: %s", e.Code, e.Detail)
	}
	return fmt.Sprintf("%s: lock %q: %s", e.Code, e.Lock, e.Detail)
}

// CodeOf is the code of err: of the first *Error in it, else what the store's
// error means, else CodeInternal.
func CodeOf(err error) Code {
	var e *Error
	switch {
	case errors.As(err, &e):
		return e.Code
	case errors.Is(err, backend.ErrInvalid):
		return CodeInvalid
	case errors.Is(err, errors.ErrUnsupported):
		return CodeUnsupported
	case errors.Is(err, backend.ErrUnavailable), errors.Is(err, backend.ErrRefused):
		return CodeUnavailable
	default:
		return CodeInternal
	}
}

// RetryAfterOf is when it makes sense to ask again after err: as the first *Error in it says,
// else a store that knows for how long it refuses; 0: unknown.
func RetryAfterOf(err error) time.Duration {
	var e *Error
	var later *backend.Later
	switch {
	case errors.As(err, &e):
		return e.RetryAfter
	case errors.As(err, &later):
		return max(later.After, time.Millisecond) // 0 would mean that it is unknown
	default:
		return 0
	}
}

// Invalid is a CodeInvalid error about field.
func Invalid(field, format string, args ...any) *Error {
	return &Error{Code: CodeInvalid, Detail: field + ": " + fmt.Sprintf(format, args...)}
}

// Quote shows at most 64 bytes of what somebody sent.
func Quote(s string) string {
	if len(s) > 64 {
		return strconv.Quote(s[:64]) + "..."
	}
	return strconv.Quote(s)
}
