package peer

import (
	"crypto/tls"
	"net"
)

// HungUp says whether the other side of a connection over TCP has closed it or will
// send nothing more, be there data left to read or not. What can be told of a Unix
// socket is told by the next write to it.
func HungUp(c net.Conn) bool {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	t, ok := c.(*net.TCPConn)
	if !ok {
		return false
	}
	closed := false
	err := control(t, func(fd int) error { closed = !established(fd); return nil })
	return closed || err != nil // an error: closed on this side
}
