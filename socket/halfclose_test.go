package socket

import (
	"net"
	"strings"
	"testing"
)

func (w *wire) halfClose() { w.Conn.(*net.UnixConn).CloseWrite() }

// P33: a client that sends nothing more, but reads, gets all its answers.
func TestHalfClose(t *testing.T) {
	g := start(t)
	w := g.dial()
	w.write("LOCK a\nLOCK b\nUNLOCK a\n")
	w.halfClose()
	if got := w.rest(); strings.Count(got, ":") != 3 || !strings.HasSuffix(got, ":0\r\n") {
		t.Errorf("three commands and the end = %q, want three answers", got)
	}
	eventually(t, "lock b is free", func() bool { return g.m.Stats().Holds == 0 && g.m.Stats().Sessions == 0 })
}

// P33 with a wait: it goes on, and what was sent behind it is answered after it.
func TestHalfCloseWhileWaiting(t *testing.T) {
	g := start(t)
	a, b := g.dial(), g.dial()
	a.lock("a")
	c := g.side(b)
	b.write("LOCK a WAIT 60\nUNLOCK a\n" + strings.Repeat("PING\n", maxQueue-2) + "LOCK kept\n")
	b.halfClose()
	eventually(t, "the end is read", func() bool { c.mu.Lock(); defer c.mu.Unlock(); return c.unread })
	g.waiters(1)
	a.want(int64(0), "UNLOCK", "a")
	if fence, _ := b.read().(int64); fence == 0 {
		t.Error("LOCK was not granted")
	}
	if left := b.read(); left != int64(0) {
		t.Errorf("UNLOCK = %v, want 0", left)
	}
	for i := range maxQueue - 2 {
		if got := b.read(); got != "PONG" {
			t.Fatalf("answer %d = %v, want PONG", i, got)
		}
	}
	if fence, _ := b.read().(int64); fence == 0 {
		t.Error("the last LOCK was not granted")
	}
	if got := b.rest(); got != "" {
		t.Errorf("after all answers comes %q, want the end", got)
	}
	eventually(t, "all is free", func() bool { return g.m.Stats().Holds == 0 && g.m.Stats().Sessions == 1 })
}

// The end of what a client sends cuts nothing off that another goroutine is writing.
func TestHalfCloseWhileAnswersAreWritten(t *testing.T) {
	g := start(t)
	w := g.dial()
	c := g.side(w)
	w.want("PONG", "PING")
	eventually(t, "the goroutine that reads has written", func() bool { c.out.mu.Lock(); defer c.out.mu.Unlock(); return !c.out.flushing })
	answers := strings.Repeat("+PONG\r\n", 100_000)
	c.out.add([]byte(answers))
	c.out.flushSoon()
	w.halfClose()
	eventually(t, "the end is read", func() bool { c.mu.Lock(); defer c.mu.Unlock(); return c.unread })
	if got := w.rest(); got != answers {
		t.Errorf("read %d bytes of answers, want %d", len(got), len(answers))
	}
	g.connections(0)
}
