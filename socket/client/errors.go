package client

import (
	"errors"
	"fmt"
	"strings"

	"github.com/lockgw/lockgw/socket/resp"
)

// What the calls of a Client return besides the context's error. An *Error matches the
// sentinel of its word; any other error means that the gateway cannot be reached or its
// connection broke.
var (
	// ErrNotAcquired: somebody else held the name for all of the wait.
	ErrNotAcquired = errors.New("not acquired within the wait")
	// ErrClosed: the Client was closed, or has closed itself because the context of another
	// call had ended before its answer came.
	ErrClosed = errors.New("client closed")
	// ErrProtocol: what was received is no reply of a gateway. Something else may listen there.
	ErrProtocol = errors.New("no reply of a gateway")

	// ErrInvalid: an argument is wrong. The same call fails whenever it is made.
	ErrInvalid = errors.New("invalid")
	// ErrWaitTooLong: the wait is longer than the gateway allows (lock.max_wait). It
	// matches ErrInvalid, too.
	ErrWaitTooLong = errors.New("wait too long")
	// ErrNoSession: the session has ended, or nobody knows its token.
	ErrNoSession = errors.New("no session")
	// ErrNotHeld: the caller does not hold the name.
	ErrNotHeld = errors.New("not held")
	// ErrLost: the caller held the name, and does not any more.
	ErrLost = errors.New("lost")
	// ErrConflict: the name is used in another way, or somebody else holds it by now.
	ErrConflict = errors.New("conflict")
	// ErrBusy: a limit of the gateway is reached.
	ErrBusy = errors.New("busy")
	// ErrUnsupported: this gateway or its store cannot do that.
	ErrUnsupported = errors.New("unsupported")
	// ErrUnavailable: the store does not answer. What was asked may have been done.
	ErrUnavailable = errors.New("unavailable")
	// ErrDraining: the gateway is about to stop. Ask again in a moment.
	ErrDraining = errors.New("draining")
	// ErrForbidden: the caller may not do that.
	ErrForbidden = errors.New("forbidden")
)

// errGivenUp is why a connection is over that had a request nobody waits for any more.
var errGivenUp = fmt.Errorf("%w: the context of a call ended before its answer came", ErrClosed)

// sentinels by the first word of an error reply.
var sentinels = map[string]error{
	"INVALID":     ErrInvalid,
	"NOSESSION":   ErrNoSession,
	"NOTHELD":     ErrNotHeld,
	"LOST":        ErrLost,
	"CONFLICT":    ErrConflict,
	"BUSY":        ErrBusy,
	"UNSUPPORTED": ErrUnsupported,
	"UNAVAILABLE": ErrUnavailable,
	"DRAINING":    ErrDraining,
	"NOAUTH":      ErrForbidden,
}

// Error is an error reply of the gateway.
type Error struct {
	Word string // the code, such as LOST
	Text string // for people
}

func errorOf(e resp.Error) *Error {
	word, text, _ := strings.Cut(string(e), " ")
	return &Error{Word: word, Text: text}
}

func (e *Error) Error() string { return e.Word + " " + e.Text }

// Is makes errors.Is find the sentinels.
func (e *Error) Is(target error) bool {
	if target == ErrWaitTooLong {
		// The text of INVALID begins with the word of the command that is wrong.
		return e.Word == "INVALID" && strings.HasPrefix(e.Text, "wait: ")
	}
	return target != nil && sentinels[e.Word] == target
}
