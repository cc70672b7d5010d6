package zookeeper

import (
	"encoding/binary"
	"math"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// ordered is a connection to a member, as the library sees it.
//
// It reads along in the first answer, which has the timeout of the session: the library does
// not tell it. And on every connection but the first of a session it holds back what the
// server says until the library has asked for its watches again (setWatches). With them the
// library names the newest transaction that it has seen, but reads that number without a
// lock, while the answer to any other request moves it on: then a change that came before
// that answer would be told to nobody.
type ordered struct {
	net.Conn
	timeout *atomic.Int32 // of the session, in milliseconds; 0: it has had no connection

	// What the one goroutine that reads has read.
	packets int    // that have come whole
	head    []byte // of the present one, as far as it has come
	sized   bool   // its length is known
	left    int    // bytes that are to come of the packet, or of its length

	most    int           // packets that may be read before the library has asked for its watches
	sent    bool          // the first request, which begins the session or takes it up
	watches chan struct{} // closed when the library has asked for them
	free    func()        // closes it
}

const (
	// A packet begins with its length, without these four bytes.
	sizeBytes = 4
	// Then comes what a request asks for, after its number; in the first answer the timeout,
	// after the version of the protocol. All have four bytes.
	headBytes = 12
	headPart  = 8

	askWatches = 101
	// watchesTime is for how long they are waited for: there may be none to ask for.
	watchesTime = time.Second / 2
)

// inOrder lets the answer to a login through: it comes before the watches, and has no number of a
// transaction.
func inOrder(c net.Conn, timeout *atomic.Int32, login bool) *ordered {
	o := &ordered{Conn: c, timeout: timeout, left: sizeBytes, most: 1, watches: make(chan struct{})}
	o.free = sync.OnceFunc(func() { close(o.watches) })
	if timeout.Load() == 0 {
		o.most = math.MaxInt
	} else if login {
		o.most++
	}
	return o
}

// Read implements net.Conn. It never returns parts of two packets.
func (o *ordered) Read(b []byte) (int, error) {
	if o.packets == o.most && len(o.head) == 0 {
		o.hold()
	}
	n, err := o.Conn.Read(b[:min(len(b), o.left)])
	o.took(b[:n])
	return n, err
}

// SetReadDeadline implements net.Conn, by the goroutine that reads.
func (o *ordered) SetReadDeadline(t time.Time) error {
	if o.packets == 0 {
		t = time.Now().Add(dialTime)
	}
	return o.Conn.SetReadDeadline(t)
}

func (o *ordered) took(b []byte) {
	o.head = append(o.head, b[:min(len(b), headBytes-len(o.head))]...)
	if o.left -= len(b); o.left == 0 && !o.sized {
		o.sized, o.left = true, int(binary.BigEndian.Uint32(o.head))
	}
	if o.left > 0 {
		return
	}
	if o.packets == 0 && len(o.head) == headBytes {
		o.timeout.Store(int32(binary.BigEndian.Uint32(o.head[headPart:])))
	}
	o.packets++
	o.head, o.sized, o.left = o.head[:0], false, sizeBytes
}

// hold waits until the rest may be read.
func (o *ordered) hold() {
	timeout := time.Duration(o.timeout.Load()) * time.Millisecond
	late := time.NewTimer(min(watchesTime, timeout/4)) // the library gives up after two thirds
	defer late.Stop()
	select {
	case <-o.watches:
	case <-late.C:
	}
	o.most = math.MaxInt
}

// Write implements net.Conn. The library writes a request at a time, by one goroutine.
func (o *ordered) Write(b []byte) (int, error) {
	n, err := o.Conn.Write(b)
	if o.sent && len(b) >= headBytes && binary.BigEndian.Uint32(b[headPart:]) == askWatches {
		o.free()
	}
	o.sent = true
	return n, err
}

// Close implements net.Conn. What is held back is not read any more.
func (o *ordered) Close() error {
	defer o.free() // not before: who waits would read on
	return o.Conn.Close()
}
