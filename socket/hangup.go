package socket

import (
	"errors"
	"io"
	"net"
	"syscall"
	"time"

	"github.com/lockgw/lockgw/session/peer"
	"github.com/lockgw/lockgw/socket/resp"
)

// over ends the connection when nothing more can be read from it. A client that has
// closed only its own direction still reads: it gets the answers to all that it sent.
func (c *conn) over(err error) {
	reads := errors.Is(err, io.EOF) && !hungUp(c.nc)
	if !reads {
		c.cutOff(lastLine(err))
	}
	c.mu.Lock()
	c.unread = true
	apart := c.apart
	c.mu.Unlock()
	switch {
	case !apart:
		c.close()
	case reads:
		awaitHangUp(c.nc)
		c.abandon()
	}
}

// cutOff ends what is being executed, with a last line for the client if there is one.
func (c *conn) cutOff(line string) {
	if line == "" {
		c.abandon()
		return
	}
	var w resp.Writer
	w.Error(line)
	c.out.add(w.Bytes())
	c.out.end()
	c.abandon()
	c.out.flush() // the wait has ended before: the client may not read this
}

// abandon ends what is being executed: its client has gone. While the Server stops,
// the commands under way are answered all the same.
func (c *conn) abandon() {
	c.mu.Lock()
	gone := !c.stopped
	c.ending = c.ending || gone
	c.mu.Unlock()
	if gone {
		c.gone()
	}
}

// gone ends the requests on behalf of the client, and its wait.
func (c *conn) gone() {
	c.cancel()
	c.mu.Lock()
	w := c.waits
	c.mu.Unlock()
	if w != nil {
		w.Look()
	}
}

// hungUp tells whether the client has closed both directions of its connection.
func hungUp(nc net.Conn) bool {
	gone := true
	onDescriptor(nc, func(fd uintptr) bool { gone = peer.Closed(fd); return true })
	return gone
}

// awaitHangUp returns when the client has closed both directions, or when nc is closed
// on this side.
func awaitHangUp(nc net.Conn) {
	if nc.SetReadDeadline(time.Time{}) == nil {
		onDescriptor(nc, peer.Closed)
	}
}

// onDescriptor calls f, and again whenever something has happened to the connection,
// until f returns true or nc is closed.
func onDescriptor(nc net.Conn, f func(fd uintptr) bool) {
	s, ok := nc.(syscall.Conn)
	if !ok {
		return
	}
	if raw, err := s.SyscallConn(); err == nil {
		_ = raw.Read(f) // the error says that nc is closed
	}
}

// lastLine is what the client is told when its connection is closed for err.
func lastLine(err error) string {
	if _, bad := errors.AsType[resp.ProtocolError](err); bad || errors.Is(err, errTooMany) {
		return errorLine(err)
	}
	return ""
}

// close is called once, when nobody reads and nothing is executed.
func (c *conn) close() {
	c.mu.Lock()
	stopped := c.stopped
	c.mu.Unlock()
	c.gone()
	c.unsubscribeAll()
	c.srv.alarms.remove(c)
	if !stopped {
		c.detach("connection closed")
	}
	c.out.close()
	c.srv.drop(c)
}

// hangUp lets nothing be executed any more, and closes the connection once the
// answers are written.
func (c *conn) hangUp() {
	c.mu.Lock()
	c.ending = true
	c.mu.Unlock()
	c.out.end()
}

// stopReading lets what was read be executed and then closes the connection.
func (c *conn) stopReading() {
	c.mu.Lock()
	c.stopped = true
	c.mu.Unlock()
	if r, ok := c.nc.(interface{ CloseRead() error }); ok && r.CloseRead() == nil {
		return
	}
	c.nc.Close()
}

// abort ends the connection at once.
func (c *conn) abort() {
	c.gone()
	c.nc.Close()
}
