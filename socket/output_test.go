package socket

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
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

// What a client does not take at once is written later, in its order, and holds up nobody: nor
// does a connection of which that cannot be asked.
func TestFlushSoon(t *testing.T) {
	client, server := socketPair(t)
	o := newOutput(server, 1<<20, time.Minute)
	full := make([]byte, 1<<20)
	if err := server.SetWriteDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	filled, err := server.Write(full) // and the deadline that is over now must not count
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("the client does not read, and the write ended with %v", err)
	}
	var want strings.Builder
	want.Write(full[:filled])
	for i := range 10 {
		answer := fmt.Sprintf("answer %d\r\n", i)
		want.WriteString(answer)
		o.add([]byte(answer))
		o.flushSoon()
	}
	o.end()
	o.flushSoon()
	got, err := io.ReadAll(client)
	if err != nil || string(got) != want.String() {
		t.Errorf("read %d bytes, which end with %.40q (%v), want %d", len(got), got[max(0, len(got)-40):], err, want.Len())
	}

	nc := newSlowConn()
	o = newOutput(nc, 1<<10, time.Second)
	o.add([]byte("late"))
	o.flushSoon()
	<-nc.entered
	close(nc.release)
	eventually(t, "it is written", func() bool { nc.mu.Lock(); defer nc.mu.Unlock(); return nc.written.String() == "late" })
}

// socketPair is a connection and its other end.
func socketPair(t *testing.T) (client, server net.Conn) {
	t.Helper()
	ln, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	if client, err = net.Dial("unix", ln.Addr().String()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	if server, err = ln.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	return client, server
}
