package peer

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// keptBack is how many descriptors at most, and one in how many, no client may take.
const (
	keptBack = 1024
	oneIn    = 4
)

// Scarce says whether the connection c has one of the last descriptors that this
// process may have. Such a client is to be refused: without those that are kept back
// the gateway could not connect to its store any more, and everybody would lose what
// they hold. It is about connections of the kernel, not about TLS over them.
func Scarce(c net.Conn) bool {
	sc, ok := c.(syscall.Conn)
	if !ok {
		return false
	}
	last := false
	err := control(sc, func(fd int) error { last = isLast(fd); return nil })
	return err == nil && last
}

// isLast: the kernel hands out the lowest number that is free, so a high one tells
// that those below are in use, whatever for.
func isLast(fd int) bool {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return false
	}
	return uint64(fd) >= limit.Cur-min(keptBack, limit.Cur/oneIn)
}

// unlessLast is the pidfd, or EMFILE.
func unlessLast(fd int, err error) (int, error) {
	if err != nil || !isLast(fd) {
		return fd, err
	}
	_ = unix.Close(fd)
	return 0, unix.EMFILE
}
