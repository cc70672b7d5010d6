package api

import (
	"context"
	"crypto/tls"
	"errors"
	"net"

	"golang.org/x/sys/unix"
)

// errHungUp: nobody is left to be answered, though the request's context is not done.
var errHungUp = errors.New("the client has hung up")

// present is why a request must not be told that it was granted something: its
// client is gone. After a byte too many net/http does not read a connection any more
// and sees no end of it, and over TCP the answer could still be written.
func present(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if closedByPeer(identityOf(ctx).conn) {
		return errHungUp
	}
	return nil
}

// closedByPeer: the other side of a connection over TCP will send nothing more, which
// net/http, too, takes for a hang-up.
func closedByPeer(c net.Conn) bool {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	t, ok := c.(*net.TCPConn)
	if !ok {
		return false
	}
	rc, err := t.SyscallConn()
	if err != nil {
		return true // closed on this side
	}
	closed := false
	err = rc.Control(func(fd uintptr) {
		info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
		closed = err == nil && info.State != unix.BPF_TCP_ESTABLISHED
	})
	return closed || err != nil
}
