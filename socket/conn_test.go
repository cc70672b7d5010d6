package socket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/session"
)

// P32: whoever hangs up does not get the lock, and does not hold up the next.
func TestHangUpWhileWaiting(t *testing.T) {
	for name, hangUp := range map[string]func(w *wire){
		"close":            func(w *wire) { w.Close() },
		"close after half": func(w *wire) { w.halfClose(); time.Sleep(2 * patience); w.Close() },
		"no RESP":          func(w *wire) { w.write("*x\r\n") },
		"too many":         func(w *wire) { w.write(strings.Repeat("PING\n", maxQueue+1)) },
	} {
		t.Run(name, func(t *testing.T) {
			g := start(t, func(o *setup) { o.session.Timeout = 300 * time.Millisecond })
			a, b, c := g.dial(), g.dial(), g.dial()
			a.lock("a")
			b.send("LOCK", "a", "WAIT", "60")
			g.waiters(1)
			c.send("LOCK", "a", "WAIT", "60")
			g.waiters(2)
			began := time.Now()
			hangUp(b)
			g.waiters(1)
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("the wait ended %v after the hang-up", took)
			}
			eventually(t, "the session has ended", func() bool { return g.m.Stats().Sessions == 2 })
			a.want(int64(0), "UNLOCK", "a")
			if fence, _ := c.read().(int64); fence == 0 {
				t.Error("the next waiter was not granted")
			}
		})
	}
}

func TestHangUpReleases(t *testing.T) {
	g := start(t)
	a, b := g.dial(), g.dial()
	a.lock("a")
	b.send("LOCK", "a", "WAIT", "30")
	g.waiters(1)
	a.Close()
	if fence, _ := b.read().(int64); fence == 0 {
		t.Error("the waiter was not granted when the holder hung up")
	}
}

// P31: what is sent behind a wait is answered after it, in order.
func TestPipelineBehindWait(t *testing.T) {
	g := start(t)
	a, b := g.dial(), g.dial()
	a.lock("a")
	b.write("PING first\n" + encode("LOCK", "a", "WAIT", "30"))
	if got := b.read(); got != "first" {
		t.Fatalf("PING before the wait = %v, want first", got)
	}
	g.waiters(1)
	for i := range maxQueue - 1 {
		b.write(fmt.Sprintf("ECHO %d\n", i))
	}
	b.write(encode("UNLOCK", "a"))
	b.silent()
	a.want(int64(0), "UNLOCK", "a")
	if fence, _ := b.read().(int64); fence == 0 {
		t.Error("LOCK was not granted")
	}
	for i := range maxQueue - 1 {
		if got := b.read(); got != fmt.Sprint(i) {
			t.Fatalf("answer %d = %v", i, got)
		}
	}
	if got := b.read(); got != int64(0) {
		t.Errorf("UNLOCK behind the wait = %v, want 0", got)
	}
	b.want("PONG", "PING")
	b.lock("a")
}

// A wait behind a wait: reading is handed over once and taken back once.
func TestWaitBehindWait(t *testing.T) {
	g := start(t)
	a, b := g.dial(), g.dial()
	for range 20 {
		a.lock("x")
		a.lock("y")
		b.write("LOCK x WAIT 30\nLOCK y WAIT 30\nUNLOCK y\nUNLOCK x\n")
		g.waiters(1)
		time.Sleep(2 * patience) // the second goroutine reads now
		a.want(int64(0), "UNLOCK", "x")
		a.want(int64(0), "UNLOCK", "y")
		for i, zero := range []bool{false, false, true, true} {
			if n, ok := b.read().(int64); !ok || (n == 0) != zero {
				t.Fatalf("answer %d = %d, want 0: %v", i, n, zero)
			}
		}
		b.want("PONG", "PING")
	}
}

// P31: more than that many commands behind a wait are too many.
func TestTooManyBehindWait(t *testing.T) {
	g := start(t, func(o *setup) { o.session.Timeout = 300 * time.Millisecond })
	a, b := g.dial(), g.dial()
	a.lock("a")
	b.write("LOCK a WAIT 30\n")
	g.waiters(1)
	b.write(strings.Repeat("PING\n", maxQueue+1))
	if got := b.rest(); !strings.HasPrefix(got, "-BUSY more than 64 commands") || strings.Count(got, "\n") != 1 {
		t.Errorf("too many commands = %q, want -BUSY and the end", got)
	}
	g.waiters(0)
}

// side is the gateway's side of w.
func (g *gateway) side(w *wire) *conn {
	g.t.Helper()
	id := w.do("CLIENT", "ID")
	g.mu.Lock()
	defer g.mu.Unlock()
	for c := range g.conns {
		if c.id == id {
			return c
		}
	}
	g.t.Fatalf("no connection has the id %v", id)
	return nil
}

// connections waits until there are n.
func (g *gateway) connections(n int) {
	g.t.Helper()
	eventually(g.t, fmt.Sprintf("%d connections", n), func() bool { g.mu.Lock(); defer g.mu.Unlock(); return len(g.conns) == n })
}

func (c *conn) isApart() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.apart
}

// What was sent behind a wait is not done when the client hangs up.
func TestHangUpDropsQueue(t *testing.T) {
	g := start(t)
	a, b, holder := g.dial3(), g.dial(), g.dial()
	token := a.token()
	b.want("OK", "AUTH", token)
	a.lock("kept")
	holder.lock("busy")
	c := g.side(b)
	b.write("LOCK busy WAIT 60\nUNLOCK kept\n")
	g.waiters(1)
	eventually(t, "UNLOCK is read", func() bool { c.mu.Lock(); defer c.mu.Unlock(); return len(c.queue) == 1 })
	b.Close()
	g.connections(2)
	a.want(int64(0), "UNLOCK", "kept")
}

// A timer that fires late must not make a third goroutine.
func TestHandOverOnce(t *testing.T) {
	g := start(t)
	a, b := g.dial(), g.dial()
	a.lock("a")
	c := g.side(b)
	b.write("LOCK a WAIT 60\n")
	eventually(t, "another goroutine reads", c.isApart)
	done := make(chan struct{})
	go func() { c.handOver(); close(done) }()
	select {
	case <-done:
	case <-time.After(slack):
		t.Error("a third goroutine reads")
		b.Close()
		<-done
	}
}

// Commands that follow each other quickly are read and executed by one goroutine: only one
// that was there at the last look already is left to it alone.
func TestHandOverLooksTwice(t *testing.T) {
	g := start(t)
	client, nc := net.Pipe()
	c := newConn(g.Server, nc, session.NoPeer(), 0) // which nobody else reads
	c.start()
	if err := c.finish(); err != nil {
		t.Fatal(err)
	}
	c.start() // another one
	done := make(chan struct{})
	go func() { c.handOver(); close(done) }()
	select {
	case <-done:
	case <-time.After(slack):
		t.Error("a second goroutine reads behind a command that has just begun")
	}
	eventually(t, "a second goroutine reads behind one that goes on", c.isApart)
	client.Close()
	eventually(t, "it has read the end", func() bool { c.mu.Lock(); defer c.mu.Unlock(); return c.unread })
	if err := c.finish(); !errors.Is(err, errApart) {
		t.Errorf("the end of the command: %v, want that another goroutine reads", err)
	}
	c.catchUp()
}

// gate is a store that holds up what tells of entries.
type gate struct {
	ledger.Table
	telling chan struct{}
	open    chan struct{}
	once    sync.Once
}

func (g *gate) Swap(ctx context.Context, s ledger.Swap) (ledger.Reply, error) {
	entered := func(c ledger.Caller) bool { return c.Entries > 1 }
	if slices.ContainsFunc(s.Record.Holds, func(h ledger.Hold) bool { return slices.ContainsFunc(h.Callers, entered) }) {
		g.once.Do(func() { close(g.telling) })
		<-g.open
	}
	return g.Table.Swap(context.WithoutCancel(ctx), s)
}

// A grant that nobody is left to be told of does not stay with a session whose
// other connections live on; but for one that was asked for by an id, which the
// client will ask for again.
func TestHangUpAtGrant(t *testing.T) {
	for name, tt := range map[string]struct {
		lock []string
		left int64
	}{
		"without an id": {[]string{"LOCK", "a"}, 0},
		"with an id":    {[]string{"LOCK", "a", "REQ", "r"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			store := &gate{telling: make(chan struct{}), open: make(chan struct{})}
			g := start(t, func(o *setup) {
				o.wrap = func(t ledger.Table) ledger.Table { store.Table = t; return store }
			})
			a, b := g.dial3(), g.dial()
			token := a.token()
			b.want("OK", "AUTH", token)
			fence := a.lock("a")
			c := g.side(b)
			b.send(tt.lock...)
			<-store.telling
			b.Close()
			<-c.ctx.Done()
			close(store.open)
			g.connections(1)
			if tt.left > 0 {
				a.want(fence, tt.lock...) // the first answer, not another entry
			}
			a.want(tt.left, "UNLOCK", "a")
		})
	}
}

// TestHangUpAtGrant, where the grant comes so soon that nobody has read the end yet.
func TestHangUpAtOnce(t *testing.T) {
	for name, tt := range map[string]struct {
		open string // how the session is opened that the lock would stay with
		lock []string
		left int
	}{
		"other connections":            {"SESSION INFO", []string{"LOCK", "a"}, 0},
		"a keepalive":                  {"SESSION NEW KEEPALIVE 60", []string{"LOCK", "a"}, 0},
		"a keepalive, and with an id":  {"SESSION NEW KEEPALIVE 60", []string{"LOCK", "a", "REQ", "r"}, 1},
		"a keepalive, and with a wait": {"SESSION NEW KEEPALIVE 60", []string{"LOCK", "a", "WAIT", "60"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var hangUp func()
			h := &heldUp{at: func(session.Acquired) { hangUp() }}
			g := start(t, h.option)
			a, b := g.dial3(), g.dial()
			opened := a.do(strings.Fields(tt.open)...)
			token, _ := opened.(string)
			if info, ok := opened.(map[string]any); ok {
				token, _ = info["token"].(string)
			}
			b.want("OK", "AUTH", token)
			hangUp = func() { b.Close() }
			b.send(tt.lock...)
			g.connections(1)
			eventually(t, "what was granted is given back", func() bool { return g.m.Stats().Holds == tt.left })
		})
	}
}

// After the line that says why a connection is closed nothing follows.
func TestLastLine(t *testing.T) {
	var mute atomic.Bool
	g := start(t, withDeafStore(func(verb string) bool { return verb == "release" && mute.Load() }))
	w := g.dial()
	w.lock("a")
	mute.Store(true)
	c := g.side(w)
	w.write("UNLOCK a\n")
	eventually(t, "another goroutine reads", c.isApart)
	w.write("*x\n")
	if got := w.rest(); got != "-ERR Protocol error: invalid multibulk length\r\n" {
		t.Errorf("answers = %q, want the last line alone", got)
	}
	mute.Store(false)
}

// Whoever sends more than the queue holds has to wait, and is not closed while
// commands are being done.
func TestQueueGoesOn(t *testing.T) {
	g := start(t)
	a, b := g.dial(), g.dial()
	a.lock("a")
	c := g.side(b)
	const more = 3 * maxQueue
	b.write("LOCK a WAIT 30\n" + strings.Repeat("PING\n", more))
	eventually(t, "the queue is full", func() bool { c.mu.Lock(); defer c.mu.Unlock(); return len(c.queue) == maxQueue })
	a.want(int64(0), "UNLOCK", "a")
	if fence, _ := b.read().(int64); fence == 0 {
		t.Error("LOCK was not granted")
	}
	for i := range more {
		if got := b.read(); got != "PONG" {
			t.Fatalf("answer %d = %v, want PONG", i, got)
		}
	}
}

// Many long answers to one batch of commands: more than may wait to be written.
func TestLongAnswers(t *testing.T) {
	g := start(t, func(o *setup) { o.socket.Limits.Output = 32 << 10 })
	w := g.dial3()
	const n = 100
	w.write(strings.Repeat("COMMAND DOCS\n", n))
	for i := range n {
		if docs, _ := w.read().(map[string]any); len(docs) == 0 {
			t.Fatalf("answer %d is empty", i)
		}
	}
}

// The same behind a wait, where another goroutine reads, and writes too.
func TestLongAnswersBehindWait(t *testing.T) {
	g := start(t, func(o *setup) { o.socket.Limits.Output = 32 << 10 })
	a, b := g.dial(), g.dial3()
	a.lock("a")
	const n = 20 * maxQueue
	b.write("LOCK a WAIT 60\n")
	g.waiters(1)
	go b.write(strings.Repeat("COMMAND DOCS\n", n))
	a.want(int64(0), "UNLOCK", "a")
	if fence, _ := b.read().(int64); fence == 0 {
		t.Error("LOCK was not granted")
	}
	for i := range n {
		if docs, _ := b.read().(map[string]any); len(docs) == 0 {
			t.Fatalf("answer %d is empty", i)
		}
	}
}

// Without a wait there is no such limit, and many answers make few writes.
func TestPipeline(t *testing.T) {
	w := start(t).dial()
	const n = 5000
	go w.write(strings.Repeat("LOCK a\nUNLOCK a\n", n))
	for i := range n {
		if got := w.read(); got == nil || got == int64(0) {
			t.Fatalf("LOCK %d = %v, want a fence", i, got)
		}
		if left := w.read(); left != int64(0) {
			t.Fatalf("UNLOCK %d = %v, want 0", i, left)
		}
	}
}

// P34: a client that never reads is closed, and costs little until then.
func TestNeverReads(t *testing.T) {
	g := start(t, func(o *setup) { o.socket.Limits.Write = 500 * time.Millisecond })
	w := g.dial()
	w.lock("a")
	written := make(chan error, 1)
	go func() {
		_, err := io.WriteString(w.Conn, strings.Repeat("PING\n", 1_000_000))
		written <- err
	}()
	select {
	case err := <-written:
		if err == nil {
			t.Error("a million commands were taken from a client that reads nothing")
		}
	case <-time.After(slack):
		t.Error("a client that reads nothing is still connected")
	}
	eventually(t, "its lock is free", func() bool { return g.m.Stats().Holds == 0 })
}

// P38: descriptors that somebody sends along are not kept.
func TestSentDescriptors(t *testing.T) {
	g := start(t)
	w := g.dial()
	r, p, err := pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(r)
	_, _, err = w.Conn.(*net.UnixConn).WriteMsgUnix([]byte("PING\n"), syscall.UnixRights(p), nil)
	syscall.Close(p)
	if err != nil {
		t.Fatal(err)
	}
	if got := w.read(); got != "PONG" {
		t.Errorf("PING with a descriptor = %v, want PONG", got)
	}
	// The pipe's end is seen once nobody has its other side any more.
	eventually(t, "the descriptor is closed", func() bool {
		n, err := syscall.Read(r, make([]byte, 1))
		return n == 0 && err == nil
	})
}

func pipe() (r, w int, err error) {
	var fds [2]int
	if err := syscall.Pipe(fds[:]); err != nil {
		return 0, 0, err
	}
	for _, fd := range fds {
		syscall.CloseOnExec(fd)
		err = errors.Join(err, syscall.SetNonblock(fd, true))
	}
	return fds[0], fds[1], err
}

// A defect that one command meets is that command's.
func TestPanic(t *testing.T) {
	g := start(t)
	g.commands["BOOM"] = &command{name: "BOOM", run: func(*conn, []string) error { panic("boom") }}
	w := g.dial()
	w.lock("a")
	w.wantError("ERR a defect in the gateway", "BOOM")
	w.want(int64(0), "UNLOCK", "a")
}
