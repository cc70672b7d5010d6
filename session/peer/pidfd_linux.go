package peer

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/lockgw/lockgw/session"
)

func credentials(fd int) (pid, uid int, err error) {
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return 0, 0, err
	}
	return int(cred.Pid), int(cred.Uid), nil
}

// groupsAt are the groups of the process at the other end of fd: its own and the further ones.
func groupsAt(fd int) (groups []int) {
	if cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
		groups = append(groups, int(cred.Gid))
	}
	for _, gid := range furtherGroups(uintptr(fd)) {
		groups = append(groups, int(gid))
	}
	return groups
}

// furtherGroups: package unix has no function for SO_PEERGROUPS.
func furtherGroups(fd uintptr) []uint32 {
	buf := make([]uint32, 32)
	for range 2 {
		size := uint32(len(buf)) * 4
		_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, fd, unix.SOL_SOCKET, unix.SO_PEERGROUPS,
			uintptr(unsafe.Pointer(&buf[0])), uintptr(unsafe.Pointer(&size)), 0)
		switch errno {
		case 0:
			return buf[:size/4]
		case unix.ERANGE: // size is what it needs
			buf = make([]uint32, size/4)
		default:
			return nil
		}
	}
	return nil
}

// open is a pidfd of the process pid, non-blocking.
func open(pid int) (pidfd int, err error) { return unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK) }

// openPeer is a pidfd of the process pid that made the connection.
func openPeer(c *net.UnixConn, pid int, accepted time.Duration) (pidfd int, err error) {
	pidfd, err = peerPidfd(c)
	if errors.Is(err, unix.ENOPROTOOPT) {
		return openOlder(pid, accepted)
	}
	return pidfd, err
}

// peerPidfd: ENOPROTOOPT before Linux 6.5.
func peerPidfd(c *net.UnixConn) (pidfd int, err error) {
	err = control(c, func(fd int) (err error) {
		pidfd, err = unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_PEERPIDFD)
		return err
	})
	switch {
	case errors.Is(err, unix.EINVAL): // before Linux 6.16, of a process that is no more
		return 0, unix.ESRCH
	case err != nil:
		return 0, err
	}
	if err := unix.SetNonblock(pidfd, true); err != nil {
		_ = unix.Close(pidfd)
		return 0, err
	}
	return pidfd, nil
}

// sameNamespace returns an error if the client has pids of its own, as in a container: it
// would name one process, and the gateway would watch another.
func sameNamespace(by session.Peer) error {
	if by.PID <= 0 {
		return invalid("the caller's process ids are not those of the gateway; run both in one pid namespace")
	}
	st, err := readStatus(by.PID)
	if err != nil {
		return unseen(by.PID, err, "the process %d that made the connection is gone or cannot be seen", by.PID)
	}
	if st.levels != 1 {
		return invalid("the caller's process ids are not those of the gateway; run both in one pid namespace")
	}
	return nil
}

// watch makes a Liveness of a non-blocking pidfd, which it owns from now on, as well as
// its use.
func watch(fd int, what string, use *Use) session.Liveness {
	f := os.NewFile(uintptr(fd), "pidfd")
	runtime.AddCleanup(f, (*Use).Release, use) // of one that is never called
	return func(ctx context.Context) error {
		defer use.Release()
		defer f.Close()
		defer context.AfterFunc(ctx, func() { f.Close() })()
		rc, err := f.SyscallConn()
		if err != nil {
			return fmt.Errorf("watch %s: %w", what, err)
		}
		err = rc.Read(func(fd uintptr) bool { return gone(int(fd)) })
		if err == nil {
			return fmt.Errorf("%s has exited", what)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		// The poller has not taken it, as with no watch left (fs.epoll.max_user_watches).
		return look(ctx, what, func() (ended bool) {
			_ = rc.Control(func(fd uintptr) { ended = gone(int(fd)) }) // an error: closed, with ctx
			return ended
		})
	}
}
