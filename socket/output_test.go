package socket

import (
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// slowConn is a connection whose first write waits.
type slowConn struct {
	net.Conn // none: only what is below is called
	entered  chan struct{}
	release  chan struct{}
	first    sync.Once

	mu      sync.Mutex // guards the fields below
	written strings.Builder
	closed  bool
}

func newSlowConn() *slowConn {
	return &slowConn{entered: make(chan struct{}), release: make(chan struct{})}
}

func (c *slowConn) SetWriteDeadline(time.Time) error { return nil }

func (c *slowConn) Write(b []byte) (int, error) {
	c.first.Do(func() {
		close(c.entered)
		<-c.release
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return 0, net.ErrClosed
	}
	return c.written.Write(b)
}

func (c *slowConn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	return nil
}

// What was added first is written first, whoever writes it.
func TestOutputOrder(t *testing.T) {
	nc := newSlowConn()
	o := newOutput(nc, 1<<10, time.Second)
	var wg sync.WaitGroup
	o.add([]byte("first "))
	wg.Go(o.flush)
	<-nc.entered
	o.add([]byte("second "))
	wg.Go(o.flush)
	wg.Go(func() {
		time.Sleep(10 * time.Millisecond)
		o.add([]byte("third"))
		o.end()
		o.add([]byte(" nothing after the end"))
		o.flush()
		close(nc.release)
	})
	wg.Wait()
	if got := nc.written.String(); got != "first second third" {
		t.Errorf("written %q, want in order", got)
	}
	if !nc.closed {
		t.Error("the connection is open after the end")
	}
}

// What nobody reads does not grow without bound.
func TestOutputLimit(t *testing.T) {
	nc := newSlowConn()
	o := newOutput(nc, 100, time.Second)
	o.add([]byte("x"))
	var wg sync.WaitGroup
	wg.Go(o.flush)
	<-nc.entered
	for range 12 {
		o.add([]byte("0123456789"))
	}
	if !errors.Is(o.err, errUnread) || o.buf != nil || !nc.closed {
		t.Errorf("err %v, %d bytes kept, closed %v, want %v, none, and closed", o.err, len(o.buf), nc.closed, errUnread)
	}
	close(nc.release)
	wg.Wait()
}
