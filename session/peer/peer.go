// Package peer asks the kernel who is at the other end of a connection, and whether
// a process still lives. What follows from the answers is decided in package session.
//
// On Linux a process is watched by a pidfd, which stays with the process it was opened
// for: a later process with the same number is never mistaken for it. The Go poller
// waits for the pidfd, so that a watched process costs one descriptor and one goroutine,
// no thread and no polling. On macOS and FreeBSD it is a kqueue, which costs a thread
// and two descriptors more: good enough for the machine of somebody who develops.
package peer

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lockgw/lockgw/session"
)

// Of is the process that connected the Unix socket c: its pid and uid at that time and,
// where it can be read, its command name. The uid is -1 if this process cannot tell the user
// from others, because it runs in a user namespace without that user. Of any other
// connection nothing is known: session.NoPeer. An error means that the kernel gave no
// answer, as for a closed socket.
func Of(c net.Conn) (session.Peer, error) {
	uc, ok := c.(*net.UnixConn)
	if !ok {
		return session.NoPeer(), nil
	}
	var pid, uid int
	err := control(uc, func(fd int) (err error) {
		pid, uid, err = credentials(fd)
		return err
	})
	if err != nil {
		return session.NoPeer(), fmt.Errorf("peer credentials: %w", err)
	}
	return session.Peer{PID: pid, UID: identified(uid), Command: command(pid)}, nil
}

// Groups are the groups of the process that connected the Unix socket c, as they were then, but for
// those of another user namespace. Without an answer of the kernel there are none, which allows less.
func Groups(c *net.UnixConn) (ids []int) {
	_ = control(c, func(fd int) error { ids = groupsAt(fd); return nil }) // its error is that the connection is closed
	return slices.DeleteFunc(ids, groups().is)
}

// Conn is the liveness of the process that connected the Unix socket c, which was
// accepted at that time on session.Boottime. It is for a client that names itself, and
// leaves less time than Process in which another process could take the number. Since Linux
// 6.5 there is no such time, because the kernel hands out the process itself. Elsewhere a
// process with that number is refused if it began after the connection. Otherwise Conn is
// like Process. The error is errors.ErrUnsupported for other sockets.
func (d *Descriptors) Conn(c net.Conn, accepted time.Duration) (session.Liveness, error) {
	uc, ok := c.(*net.UnixConn)
	if !ok {
		return nil, fmt.Errorf("peer process of a %T: %w", c, errors.ErrUnsupported)
	}
	by, err := Of(uc)
	if err != nil {
		return nil, err
	}
	h, err := openPeer(uc, by.PID, accepted)
	if err != nil {
		return nil, d.openError(by.PID, err)
	}
	if err = sameNamespace(by); by.UID < 0 {
		err = invalid("the gateway cannot tell your user from others: it runs in a user namespace without it")
	}
	if gone(h) { // so what was looked at may have been another process
		err = invalid("the process %d that made the connection has exited", by.PID)
	}
	if err != nil {
		_ = unix.Close(h)
		return nil, err
	}
	return d.watchFor(by, h, by.PID)
}

// openOlder opens the process pid unless it began after that time: ESRCH.
func openOlder(pid int, than time.Duration) (handle int, err error) {
	handle, err = open(pid)
	if err != nil {
		return 0, err
	}
	older, err := began(pid, than)
	if err == nil && older {
		return handle, nil
	}
	_ = unix.Close(handle)
	if exhausted(err) {
		return 0, err
	}
	return 0, unix.ESRCH
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
