package cli

import (
	"errors"
	"fmt"
)

// The exit codes besides those of a command that was run.
const (
	ExitRefused       = 1   // the gateway refused: not held, no such session, ...
	ExitUsage         = 64  // EX_USAGE
	ExitUnavailable   = 69  // EX_UNAVAILABLE: the gateway or its store
	ExitNotAcquired   = 75  // EX_TEMPFAIL
	ExitNoPermission  = 77  // EX_NOPERM: there may be a gateway, but not for this user, or somebody else made its socket
	ExitLost          = 122 // the hold was lost, its command was stopped
	ExitMaxRuntime    = 124 // as timeout(1)
	ExitFailed        = 125 // lockgw itself failed
	ExitCannotExecute = 126
	ExitNotFound      = 127
	ExitSignal        = 128 // plus the number of the signal
)

// ExitError is an error that decides how the process ends.
type ExitError struct {
	Code int
	Err  error // nil: there is nothing more to say
}

func (e *ExitError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit code %d", e.Code)
	}
	return e.Err.Error()
}

func (e *ExitError) Unwrap() error { return e.Err }

// Exit makes err end the process with code.
func Exit(code int, err error) error { return &ExitError{Code: code, Err: err} }

// Usagef is an error of whoever typed the command.
func Usagef(format string, args ...any) error { return Exit(ExitUsage, fmt.Errorf(format, args...)) }

// ExitCode is how the process ends with err, and what it has to say then.
func ExitCode(err error) (code int, message string) {
	var e *ExitError
	switch {
	case err == nil:
		return 0, ""
	case !errors.As(err, &e):
		return ExitFailed, err.Error()
	case e.Err == nil:
		return e.Code, ""
	default:
		return e.Code, err.Error()
	}
}
