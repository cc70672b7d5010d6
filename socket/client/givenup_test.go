package client

import (
	"context"
	"errors"
	"net"
	"runtime"
	"testing"
)

// endsContext is a connection whose call is given up while its request is written.
type endsContext struct {
	net.Conn
	end context.CancelFunc
}

func (c endsContext) Write(b []byte) (int, error) {
	c.end()
	return len(b), nil
}

// The connection of a call that was given up is over when the call returns.
func TestOverWhenGivenUp(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // nobody else ends it meanwhile
	ours, theirs := net.Pipe()
	defer theirs.Close()
	ctx, end := context.WithCancel(t.Context())
	c := newClient(endsContext{ours, end}, Options{})
	defer c.Close()
	if _, err := c.Do(ctx, "PING"); !errors.Is(err, context.Canceled) || c.Err() == nil {
		t.Errorf("the call: %v, the connection: %v, want both to have ended", err, c.Err())
	}
}
