package redistest

import (
	"maps"
	"net"
	"slices"
	"sync"
	"testing"
	"time"
)

// Fault is what a Link does to what passes.
type Fault int

// The faults.
const (
	// Pass forwards everything.
	Pass Fault = iota
	// BlackHole forwards nothing, not even the end of a connection, and tells
	// nobody. What was held back goes on when the fault is over, if the sender
	// is still there.
	BlackHole
	// DropReplies forwards requests and loses the replies.
	DropReplies
	// CloseOnReply forwards requests and closes the connection in place of the
	// reply.
	CloseOnReply
)

// Link is a TCP proxy that can fail.
type Link struct {
	Addr string // host:port to connect to, on loopback

	ln net.Listener
	wg sync.WaitGroup

	mu     sync.Mutex // guards the fields below
	target string     // of connections to come
	fault  Fault      // of connections to come
	delay  time.Duration
	conns  map[*conn]struct{}
	closed bool
}

// conn is one connection through a Link.
type conn struct {
	client, server net.Conn
	done           chan struct{} // closed with the connection
	once           sync.Once

	fault   Fault         // guarded by the Link's mutex, like changed
	changed chan struct{} // closed when fault changes
}

// Proxy starts a Link to addr, which passes everything. It ends with the test.
func Proxy(t testing.TB, addr string) *Link {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("proxy to %s: %v", addr, err)
	}
	l := &Link{Addr: ln.Addr().String(), target: addr, ln: ln, conns: map[*conn]struct{}{}}
	l.wg.Go(l.accept)
	t.Cleanup(l.close)
	return l
}

// Set puts every connection, present and to come, under f.
func (l *Link) Set(f Fault) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fault = f
	l.setPresentLocked(f)
}

// SetPresent puts the present connections under f, as when something on the way
// forgets about them; new ones are not concerned.
func (l *Link) SetPresent(f Fault) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.setPresentLocked(f)
}

// Lead has new connections go to another address; the present ones stay where they are.
func (l *Link) Lead(addr string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.target = addr
}

// Shut has no connection more be taken; the present ones stay.
func (l *Link) Shut() { _ = l.ln.Close() }

// Delay holds each reply back for d.
func (l *Link) Delay(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.delay = d
}

func (l *Link) setPresentLocked(f Fault) {
	for c := range l.conns {
		c.fault = f
		close(c.changed)
		c.changed = make(chan struct{})
	}
}

func (l *Link) accept() {
	for {
		client, err := l.ln.Accept()
		if err != nil {
			return // closed
		}
		l.mu.Lock()
		target := l.target
		l.mu.Unlock()
		server, err := net.Dial("tcp", target)
		if err != nil {
			_ = client.Close()
			continue
		}
		l.serve(&conn{client: client, server: server, done: make(chan struct{}), changed: make(chan struct{})})
	}
}

func (l *Link) serve(c *conn) {
	l.mu.Lock()
	c.fault = l.fault
	l.conns[c] = struct{}{}
	closed := l.closed
	l.mu.Unlock()
	if closed {
		l.drop(c)
		return
	}
	l.wg.Go(func() { l.pump(c, c.server, c.client, false) })
	l.wg.Go(func() { l.pump(c, c.client, c.server, true) })
}

func (l *Link) pump(c *conn, dst, src net.Conn, replies bool) {
	defer l.drop(c)
	buf := make([]byte, 32<<10)
	for {
		n, err := src.Read(buf)
		fault, delay, ok := l.wait(c)
		switch {
		case !ok || err != nil || replies && fault == CloseOnReply:
			return
		case replies && fault == DropReplies:
			continue
		}
		if replies && delay > 0 {
			time.Sleep(delay)
		}
		if _, err := dst.Write(buf[:n]); err != nil {
			return
		}
	}
}

// wait returns when c is out of the black hole; false: c is closed.
func (l *Link) wait(c *conn) (Fault, time.Duration, bool) {
	for {
		l.mu.Lock()
		fault, delay, changed := c.fault, l.delay, c.changed
		l.mu.Unlock()
		if fault != BlackHole {
			return fault, delay, true
		}
		select {
		case <-changed:
		case <-c.done:
			return 0, 0, false
		}
	}
}

func (l *Link) drop(c *conn) {
	c.once.Do(func() { close(c.done) })
	_ = c.client.Close()
	_ = c.server.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, c)
}

func (l *Link) close() {
	_ = l.ln.Close()
	l.mu.Lock()
	l.closed = true
	conns := slices.Collect(maps.Keys(l.conns))
	l.mu.Unlock()
	for _, c := range conns {
		l.drop(c)
	}
	l.wg.Wait()
}
