package backend

import "time"

// Later is Err, which is an ErrRefused, from somebody who knows when it makes sense
// to ask again.
type Later struct {
	Err   error
	After time.Duration
}

// Error is that of Err.
func (l *Later) Error() string { return l.Err.Error() }

// Unwrap returns Err.
func (l *Later) Unwrap() error { return l.Err }
