// Package peer asks the kernel who is at the other end of a Unix socket, and
// whether a process still lives. What follows from the answers is decided in
// package session.
//
// A process is watched by a pidfd, which stays with the process it was opened
// for: a later process with the same number is never mistaken for it. The Go
// poller waits for the pidfd, so that a watched process costs one descriptor and
// one goroutine, no thread and no polling.
package peer

import (
	"errors"
	"fmt"
	"net"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/lockgw/lockgw/session"
)

// Of is the process that connected the Unix socket c: its pid and uid at that
// time and, where it can be read, its command name. Of any other connection
// nothing is known: session.NoPeer. An error means that the kernel gave no
// answer, as of a closed socket.
func Of(c net.Conn) (session.Peer, error) {
	uc, ok := c.(*net.UnixConn)
	if !ok {
		return session.NoPeer(), nil
	}
	var cred *unix.Ucred
	err := control(uc, func(fd int) (err error) {
		cred, err = unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
		return err
	})
	if err != nil {
		return session.NoPeer(), fmt.Errorf("peer credentials: %w", err)
	}
	return session.Peer{PID: int(cred.Pid), UID: int(cred.Uid), Command: command(int(cred.Pid))}, nil
}

// Conn is the liveness of the process that connected the Unix socket c. Unlike
// Process it leaves no time in which the pid could be taken by another process.
// The error is errors.ErrUnsupported before Linux 6.5, and for other sockets.
func Conn(c net.Conn) (session.Liveness, error) {
	uc, ok := c.(*net.UnixConn)
	if !ok {
		return nil, fmt.Errorf("peer process of a %T: %w", c, unix.ENOTSUP)
	}
	var pidfd int
	err := control(uc, func(fd int) (err error) {
		pidfd, err = unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_PEERPIDFD)
		return err
	})
	if errors.Is(err, unix.ENOPROTOOPT) {
		err = unix.ENOTSUP
	}
	if err != nil {
		return nil, fmt.Errorf("peer process: %w", err)
	}
	if err := unix.SetNonblock(pidfd, true); err != nil {
		_ = unix.Close(pidfd)
		return nil, fmt.Errorf("peer process: %w", err)
	}
	return watch(pidfd, "the connected process"), nil
}

func control(c syscall.Conn, f func(fd int) error) error {
	rc, err := c.SyscallConn()
	if err != nil {
		return err
	}
	if cerr := rc.Control(func(fd uintptr) { err = f(int(fd)) }); cerr != nil {
		return cerr
	}
	return err
}
