// Package eager has a read look for its data for a moment before it sleeps.
//
// Where a core rests while nothing is to be done, as most do, to be woken takes longer than
// all that is computed for a request. So a read that expects its data soon, the answer of a
// store nearby or the next command of a client that sends one after the other, does better
// to ask a few times first. That must cost nobody else anything:
//
//   - only while one client alone is served, as what others have read in the meantime
//     tells: with more of them there is something better to do than to look;
//   - an answer of the store is looked for if a client waits for it who is looked for, too:
//     not one to a renewal;
//   - one read of the process looks at a time, and stops as soon as another one ends;
//   - one that looked in vain has the next reads of its connection sleep at once, twice as
//     many each time. So a store far away, a client that rests, or what comes late because
//     others need the cores is hardly ever looked for.
package eager

import (
	"context"
	"errors"
	"net"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	// patience is how long a read looks.
	patience = 80 * time.Microsecond
	// company is how many reads of others may end between the ends of two of a connection where
	// one client alone is served: those of its command and of an answer.
	company = 2
	// mostSkipped is how many reads at most sleep at once before one looks again.
	mostSkipped = 63
)

var (
	looking atomic.Bool   // some read is looking
	stirred atomic.Uint32 // how many reads have ended
)

// conn is read by one goroutine at a time.
type conn struct {
	net.Conn
	raw   syscall.RawConn
	look  func(fd uintptr) bool // is lookFor
	most  time.Duration         // patience
	least uint32                // reads of others that have to have ended since the last one of this
	ended uint32                // stirred, after that
	with  uint32                // reads of others that had ended between that and the one before
	into  []byte
	n     int  // bytes that were found
	late  bool // not at the first look
	skips int  // how many reads sleep at once after one that looked in vain
	skip  int  // how many of them are left
}

// Client is c, which leads to a client, with reads that look first. One goroutine at a time
// may read from it. It is c itself if that is no socket, or if whoever looked would keep all
// others of the process from running.
func Client(c net.Conn) net.Conn { return wrap(c, 0) }

// Store is Client for a connection to a store.
func Store(c net.Conn) net.Conn { return wrap(c, 1) }

func wrap(c net.Conn, least uint32) net.Conn {
	s, ok := c.(syscall.Conn)
	if !ok || runtime.GOMAXPROCS(0) == 1 {
		return c
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return c
	}
	e := &conn{Conn: c, raw: raw, most: patience, least: least, ended: stirred.Load(), with: company + 1}
	e.look = e.lookFor
	return e
}

// Dial is dial of a store, as Store.
func Dial(dial func(ctx context.Context, network, addr string) (net.Conn, error)) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return Store(c), nil
	}
}

// SyscallConn implements syscall.Conn.
func (c *conn) SyscallConn() (syscall.RawConn, error) { return c.raw, nil }

// Read implements net.Conn.
func (c *conn) Read(b []byte) (n int, err error) {
	if n = c.eagerly(b); n == 0 {
		n, err = c.Conn.Read(b)
	}
	c.stir()
	return n, err
}

// stir counts a read that has ended.
func (c *conn) stir() {
	now := stirred.Add(1)
	c.with, c.ended = now-c.ended-1, now
}

// eagerly is what was found; 0: the usual read says what there is.
func (c *conn) eagerly(b []byte) int {
	if others := stirred.Load() - c.ended; others < c.least || max(others, c.with) > company {
		return 0
	}
	if c.skip > 0 {
		c.skip--
		return 0
	}
	if len(b) == 0 || !looking.CompareAndSwap(false, true) {
		return 0
	}
	c.into, c.n, c.late = b, 0, false
	_ = c.raw.Read(c.look)
	n, late := c.n, c.late
	c.into = nil
	looking.Store(false) // who looks then has these fields
	switch {
	case n == 0:
		c.skips = min(2*c.skips+1, mostSkipped)
		c.skip = c.skips
	case late:
		c.skips /= 2
	}
	return n
}

// lookFor reads what is there, or comes soon.
func (c *conn) lookFor(fd uintptr) bool {
	before := stirred.Load()
	for until := time.Now().Add(c.most); ; c.late = true {
		n, err := syscall.Read(int(fd), c.into)
		c.n = max(n, 0)
		if err == nil || !errors.Is(err, syscall.EAGAIN) || stirred.Load() != before || time.Now().After(until) {
			return true
		}
	}
}
