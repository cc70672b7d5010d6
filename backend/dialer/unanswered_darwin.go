package dialer

import "golang.org/x/sys/unix"

// limitUnanswered ends the connection when the peer has not acknowledged for
// userTimeout what was sent.
func limitUnanswered(fd int) error {
	return unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_RXT_CONNDROPTIME, int(userTimeout.Seconds()))
}
