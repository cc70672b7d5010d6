package client

import (
	"context"
	"errors"
	"io"
	"math"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// A gateway that hangs ends a call of a client that has only so much patience, and a LOCK that
// much after its wait.
func TestClientPatience(t *testing.T) {
	const patience, century = 30 * time.Second, 100 * 365 * 24 * time.Hour
	for _, tt := range []struct{ wait, least, most time.Duration }{
		{0, patience, patience},
		{-time.Hour, patience, patience},
		{time.Hour, time.Hour + patience, time.Hour + patience},
		{math.MaxInt64, century, math.MaxInt64}, // a sum that is too large ends at once
	} {
		synctest.Test(t, func(t *testing.T) {
			ours, theirs := net.Pipe()
			defer theirs.Close()
			go func() { _, _ = io.Copy(io.Discard, theirs) }()
			c := newClient(ours, Options{Patience: patience})
			defer c.Close()
			began := time.Now()
			_, err := c.Lock(t.Context(), "a", LockOptions{Wait: tt.wait})
			if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took < tt.least || took > tt.most {
				t.Errorf("a wait of %v = %v after %v, want %v after %v", tt.wait, err, took, context.DeadlineExceeded, tt.least)
			}
			if err := c.Ping(t.Context()); !errors.Is(err, ErrClosed) {
				t.Errorf("the call after it = %v, want %v", err, ErrClosed)
			}
		})
	}
}
