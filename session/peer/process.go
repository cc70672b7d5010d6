package peer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lockgw/lockgw/session"
)

// Process is the liveness of the process pid, as the client by names it: by must
// be in the gateway's pid namespace, where the numbers mean the same, and may
// name processes of its own real uid, root any. The process is held on to from
// now on. The result may be called once; if it never is, the garbage collector
// closes the descriptor. CodeInvalid says why not, CodeTooManySessions that no
// descriptor is left.
//
// It costs a descriptor, which goes on the account of by's user until the process or the
// session has ended.
func (d *Descriptors) Process(pid int, by session.Peer) (session.Liveness, error) {
	if by.UID < 0 {
		return nil, invalid("a process can be named over a Unix socket only, and by a user whom the gateway can tell from others: in a user namespace it knows only those that are mapped")
	}
	if pid <= 0 {
		return nil, invalid("%d is no process id", pid)
	}
	if err := sameNamespace(by); err != nil {
		return nil, err
	}
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return nil, d.openError(pid, err)
	}
	// Only now is the owner looked at: while the pidfd says that the process
	// lives, the number cannot have passed to another one.
	if err := allowed(pid, fd, by); err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	return d.watchFor(by, fd, pid)
}

// watchFor is watch, if by's user has a descriptor to spare.
func (d *Descriptors) watchFor(by session.Peer, fd, pid int) (session.Liveness, error) {
	use, err := d.Take(User(by.UID), fd)
	if err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("watch process %d: %w", pid, err)
	}
	return watch(fd, fmt.Sprintf("process %d", pid), use), nil
}

func (d *Descriptors) openError(pid int, err error) error {
	d.RefuseAll(err)
	switch {
	case errors.Is(err, unix.ESRCH):
		return invalid("there is no process %d", pid)
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOENT):
		return invalid("%d is a thread, not a process", pid)
	case errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE):
		return &session.Error{
			Code: session.CodeTooManySessions, RetryAfter: time.Second,
			Detail: fmt.Sprintf("the gateway has no file descriptor left to watch process %d with; raise its limit (ulimit -n, LimitNOFILE=)", pid),
		}
	default:
		return fmt.Errorf("watch process %d: %w", pid, err)
	}
}

func allowed(pid, fd int, by session.Peer) error {
	st, err := readStatus(pid)
	if err != nil || gone(fd) {
		return invalid("there is no process %d, or it cannot be seen", pid)
	}
	if by.UID != 0 && st.uid != by.UID {
		return invalid("process %d does not belong to uid %d", pid, by.UID)
	}
	return nil
}

// sameNamespace: in a container with pids of its own a client would name one
// process and the gateway would watch another.
func sameNamespace(by session.Peer) error {
	if by.PID <= 0 {
		return invalid("the caller's process ids are not those of the gateway; run both in one pid namespace")
	}
	st, err := readStatus(by.PID)
	if err != nil {
		return invalid("the process %d that made the connection is gone or cannot be seen", by.PID)
	}
	if st.levels != 1 {
		return invalid("the caller's process ids are not those of the gateway; run both in one pid namespace")
	}
	return nil
}

func invalid(format string, args ...any) error { return session.Invalid("bind", format, args...) }

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
		return fmt.Errorf("watch %s: %w", what, err)
	}
}

// gone: a pidfd is readable once its process has exited, and stays so.
func gone(pidfd int) bool {
	fds := []unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(fds, 0)
		if !errors.Is(err, unix.EINTR) {
			return n > 0
		}
	}
}
