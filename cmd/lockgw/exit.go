package main

import (
	"errors"
	"fmt"
)

// The exit codes besides those of a command that was run.
const (
	exitRefused       = 1   // the gateway refused: not held, no such session, ...
	exitUsage         = 64  // EX_USAGE
	exitUnavailable   = 69  // EX_UNAVAILABLE: the gateway or its store
	exitNotAcquired   = 75  // EX_TEMPFAIL
	exitLost          = 122 // the hold was lost, its command was stopped
	exitMaxRuntime    = 124 // as timeout(1)
	exitFailed        = 125 // lockgw itself failed
	exitCannotExecute = 126
	exitNotFound      = 127
	exitSignal        = 128 // plus the number of the signal
)

// exitError is an error that decides how the process ends.
type exitError struct {
	code int
	err  error // nil: there is nothing more to say
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// exit makes err end the process with code.
func exit(code int, err error) error { return &exitError{code: code, err: err} }

// usagef is an error of whoever typed the command.
func usagef(format string, args ...any) error { return exit(exitUsage, fmt.Errorf(format, args...)) }

// exitCode is how the process ends with err, and what it has to say then.
func exitCode(err error) (code int, message string) {
	var e *exitError
	switch {
	case err == nil:
		return 0, ""
	case !errors.As(err, &e):
		return exitFailed, err.Error()
	case e.err == nil:
		return e.code, ""
	default:
		return e.code, err.Error()
	}
}
