package backend

import (
	"errors"
	"fmt"
)

// The answers that are not a grant. Compare with errors.Is.
var (
	// ErrNotHeld: the hold that the request names is over. It never comes back.
	ErrNotHeld = errors.New("not held")
	// ErrFence: the fence is not the newest that the store knows of; nothing was
	// changed.
	ErrFence = errors.New("not the newest fence")
	// ErrConflict: the name is used as another kind: a lock, shared or not, or a
	// semaphore of one size, or in a way of a program outside lockgw with which that
	// cannot be shared; nothing was changed.
	ErrConflict = errors.New("the name is in use as something else")
	// ErrUnavailable: no answer, so the outcome is unknown.
	ErrUnavailable = errors.New("store unavailable")
	// ErrDefect is an ErrUnavailable, of a request in which the gateway has panicked.
	ErrDefect = fmt.Errorf("%w: a defect of the gateway", ErrUnavailable)
	// ErrInvalid: the request cannot be understood; nothing was changed.
	ErrInvalid = errors.New("invalid request")
	// ErrRefused: the request was not sent, or the store refused to run it
	// (out of memory, read-only, loading); nothing was changed.
	ErrRefused = errors.New("store refused the request")
	// ErrUnreachable is an ErrRefused: there is no connection by which to send.
	ErrUnreachable error = NotSent("store not reachable")
	// ErrPartly, of Ping and List alone: the store serves, but not all of it does, or
	// not all that it should do; the text says what is lacking and what to do.
	ErrPartly = errors.New("the store serves in part")
)

// NotSent is an ErrRefused in words of its own: nobody was there to refuse anything.
type NotSent string

// Error implements error.
func (e NotSent) Error() string { return string(e) }

// Is makes it an ErrRefused.
func (NotSent) Is(target error) bool { return target == ErrRefused }
