package peer

import (
	"crypto/tls"
	"net"
)

// HungUp says whether the client of a TCP connection has closed it or will send nothing more,
// whether there is data left to read or not. On a Unix socket the next write tells.
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
