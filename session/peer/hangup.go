package peer

import (
	"crypto/tls"
	"net"

	"golang.org/x/sys/unix"
)

// HungUp says whether the client of a connection has closed it, whether there is data left to
// read or not; over TCP also whether it will send nothing more.
func HungUp(c net.Conn) bool {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	closed := false
	var err error // closed on this side
	switch c := c.(type) {
	case *net.TCPConn:
		err = control(c, func(fd int) error { closed = !established(fd); return nil })
	case *net.UnixConn:
		err = control(c, func(fd int) error { closed = Closed(uintptr(fd)); return nil })
	}
	return closed || err != nil
}

// Closed says whether the client has closed both directions of the connection fd.
func Closed(fd uintptr) bool {
	fds := []unix.PollFd{{Fd: int32(fd)}} // POLLHUP and POLLERR need not be asked for
	_, err := unix.Poll(fds, 0)
	return err == nil && fds[0].Revents&(unix.POLLHUP|unix.POLLERR) != 0
}
