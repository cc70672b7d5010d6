package socket

import (
	"errors"
	"net"
	"sync"
	"syscall"
	"time"
)

var errUnread = errors.New("the client does not read")

// flushAt is how much is collected before it is written in the middle of a batch.
const flushAt = 16 << 10

// output collects what is to be sent to one client. Whole answers and messages
// are added, so that none is cut by another; adding never blocks.
type output struct {
	nc      net.Conn
	max     int           // bytes that may wait to be written
	timeout time.Duration // of a write

	mu       sync.Mutex // guards the fields below; not held while writing
	taken    sync.Cond  // buf has been taken to be written, or nothing is being written any more
	buf      []byte
	spare    []byte
	flushing bool
	last     bool // nothing is added any more, and nc is closed when all is written
	err      error
	renewed  time.Time // when nc got its deadline
}

func newOutput(nc net.Conn, most int, timeout time.Duration) *output {
	o := &output{nc: nc, max: most, timeout: timeout}
	o.taken.L = &o.mu
	return o
}

// open is false if what is added will not be written.
func (o *output) open() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err == nil && !o.last && len(o.buf) <= o.max
}

// add appends b. It reports whether so much has come together that it should be
// written.
func (o *output) add(b []byte) (full bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.err != nil || o.last:
		return false
	case len(o.buf) > o.max:
		o.failLocked(errUnread)
		return false
	}
	o.buf = append(o.buf, b...)
	return len(o.buf) >= flushAt
}

// end lets what was added so far be written and then closes the connection.
func (o *output) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.last = true
}

// flush writes what was added. If another goroutine is at it, that one writes it.
func (o *output) flush() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.flushing {
		return
	}
	o.flushing = true
	for len(o.buf) > 0 && o.err == nil {
		o.writeLocked()
	}
	o.flushing = false
	o.taken.Broadcast()
	if o.last {
		o.nc.Close()
	}
}

// close writes what was added so far, or waits for the goroutine that is at it, and closes the
// connection.
func (o *output) close() {
	o.end()
	o.flush()
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.flushing {
		o.taken.Wait()
	}
}

// flushSoon is flush for who must not be held up by the client: what that does not take at
// once is left to another goroutine.
func (o *output) flushSoon() {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.flushing:
		return
	case !o.last && o.err == nil:
		o.buf = o.buf[:copy(o.buf, o.buf[o.tryLocked(o.buf):])]
		if len(o.buf) == 0 {
			return
		}
	}
	go o.flush()
}

// tryLocked writes what the kernel takes of b at once.
func (o *output) tryLocked(b []byte) (n int) {
	sc, ok := o.nc.(syscall.Conn)
	if !ok || o.renew() != nil {
		return 0
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return 0
	}
	_ = raw.Write(func(fd uintptr) (done bool) { // errors are found by flush
		n, _ = syscall.Write(int(fd), b)
		return true
	})
	return max(n, 0)
}

// renew sets the deadline of a write. It lasts half of the timeout at least: that of a write
// before it may still do.
func (o *output) renew() error {
	now := time.Now()
	if now.Sub(o.renewed) <= o.timeout/2 {
		return nil
	}
	o.renewed = now
	return o.nc.SetWriteDeadline(now.Add(o.timeout))
}

// makeRoom writes what was added. If another goroutine is at it, makeRoom waits until that
// one has taken what came together: who answers commands is held up by a client that reads
// slowly, and does not pile up answers for it.
func (o *output) makeRoom() {
	o.flush()
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.buf) >= flushAt && o.err == nil {
		o.taken.Wait()
	}
}

// writeLocked releases the mutex while it writes.
func (o *output) writeLocked() {
	b := o.buf
	o.buf, o.spare = o.spare[:0], nil
	o.taken.Broadcast()
	err := o.renew()
	o.mu.Unlock()
	if err == nil {
		_, err = o.nc.Write(b)
	}
	o.mu.Lock()
	if cap(b) <= 2*flushAt {
		o.spare = b
	}
	if err != nil {
		o.failLocked(err)
	}
}

// failLocked closes the connection: a client that missed a part of a reply cannot
// understand what follows.
func (o *output) failLocked(err error) {
	if o.err == nil {
		o.err = err
	}
	o.buf = nil
	o.taken.Broadcast()
	o.nc.Close()
}
