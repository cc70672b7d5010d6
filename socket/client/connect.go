package client

import (
	"context"
	"errors"
	"net"
	"syscall"
	"time"
)

// connect waits while the gateway has a full queue of connections that it has not taken yet, as a
// blocking connect(2) does: it is there, and will take them. Go's does not block, and fails then.
func connect(ctx context.Context, path string) (net.Conn, error) {
	var (
		d    net.Dialer
		full error
	)
	for {
		nc, err := d.DialContext(ctx, "unix", path)
		switch {
		case errors.Is(err, syscall.EAGAIN):
			full = err
		case full != nil && errors.Is(err, context.DeadlineExceeded):
			return nil, full
		default:
			return nc, err
		}
		select {
		case <-time.After(10 * time.Millisecond): // nothing tells when there is room
		case <-ctx.Done():
		}
	}
}
