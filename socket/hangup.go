package socket

import (
	"errors"

	"github.com/lockgw/lockgw/socket/resp"
)

// over ends the connection when nothing more can be read from it.
func (c *conn) over(err error) {
	line := lastLine(err)
	if line != "" {
		var w resp.Writer
		w.Error(line)
		c.out.add(w.Bytes())
		c.out.end()
	}
	c.mu.Lock()
	gone := !c.stopped
	c.ending = c.ending || gone
	c.mu.Unlock()
	if gone {
		c.cancel()
	}
	if line != "" {
		c.out.flush() // the wait has ended before: the client may not read this
	}
	c.mu.Lock()
	c.unread = true
	apart := c.apart
	c.mu.Unlock()
	if !apart {
		c.close()
	}
}

// lastLine is what the client is told when its connection is closed for err.
func lastLine(err error) string {
	var bad resp.ProtocolError
	if errors.As(err, &bad) || errors.Is(err, errTooMany) {
		return errorLine(err)
	}
	return ""
}

// close is called once, when nobody reads and nothing is executed.
func (c *conn) close() {
	c.mu.Lock()
	stopped := c.stopped
	c.mu.Unlock()
	c.cancel()
	c.unsubscribeAll()
	c.srv.alarms.remove(c)
	if !stopped {
		c.member.leave("connection closed")
	}
	c.nc.Close()
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
	c.cancel()
	c.nc.Close()
}
