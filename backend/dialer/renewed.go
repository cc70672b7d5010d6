package dialer

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
)

var logger atomic.Pointer[slog.Logger]

// LogTo has files that cannot be read again be told to log. It is for the whole process, which
// has one gateway.
func LogTo(log *slog.Logger) { logger.Store(log) }

func tell(level slog.Level, text string, args ...any) {
	if log := logger.Load(); log != nil {
		log.Log(context.Background(), level, text, args...)
	}
}

// Renewed is what connections are made with, of files that somebody replaces while the gateway
// runs: a certificate may last for an hour.
type Renewed[T any] struct {
	read func() (T, error)

	mu   sync.Mutex // guards the fields below
	last T          // that was read
	said string     // why nothing could be read since then; "": it could
}

// Renew reads for the first time. The error is that of read.
func Renew[T any](read func() (T, error)) (*Renewed[T], error) {
	v, err := read()
	if err != nil {
		return nil, err
	}
	return &Renewed[T]{read: read, last: v}, nil
}

// Now is what is in the files now. If that is of no use, it is what was read last, and the log
// says so once: a certificate and its key are replaced one after the other, and do not belong
// together in between.
func (r *Renewed[T]) Now() T {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, err := r.read()
	if err != nil {
		if why := err.Error(); why != r.said {
			r.said = why
			tell(slog.LevelWarn, "the files with certificates or the password for the store cannot be read again; new connections are made with what was in them before, as long as the store takes that", "err", err)
		}
		return r.last
	}
	if r.said != "" {
		tell(slog.LevelInfo, "the files with certificates or the password for the store are in order again")
	}
	r.last, r.said = v, ""
	return v
}
