package peer

import (
	"context"
	"errors"
	"fmt"
	"net"
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
	h, err := open(pid)
	if err != nil {
		return nil, d.openError(pid, err)
	}
	// The owner is looked at only now: while the handle says that the process lives,
	// no other process can have its number.
	if err := allowed(pid, h, by); err != nil {
		_ = unix.Close(h)
		return nil, err
	}
	return d.watchFor(by, h, pid)
}

// Bind is the liveness of the process pid, as the client by names it over the connection c, which
// was accepted at that time on session.Boottime, and what tells that process from every later one
// with its number. It is Conn for a client that names itself, and Process for any other.
func (d *Descriptors) Bind(c net.Conn, accepted time.Duration, by session.Peer, pid int) (alive session.Liveness, is session.Process, err error) {
	if pid == by.PID {
		alive, err = d.Conn(c, accepted)
	} else {
		alive, err = d.Process(pid, by)
	}
	if err == nil {
		is, err = Identify(pid)
	}
	return alive, is, err
}

// watchFor is watch, if by's user has a descriptor to spare.
func (d *Descriptors) watchFor(by session.Peer, handle, pid int) (session.Liveness, error) {
	use, err := d.Take(User(by.UID), handle)
	if err != nil {
		_ = unix.Close(handle)
		return nil, fmt.Errorf("watch process %d: %w", pid, err)
	}
	return watch(handle, fmt.Sprintf("process %d", pid), use), nil
}

func (d *Descriptors) openError(pid int, err error) error {
	d.RefuseAll(err)
	switch {
	case errors.Is(err, unix.ESRCH):
		return invalid("there is no process %d", pid)
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOENT):
		return invalid("%d is a thread, not a process", pid)
	case exhausted(err):
		return noDescriptor(pid)
	default:
		return fmt.Errorf("watch process %d: %w", pid, err)
	}
}

func allowed(pid, handle int, by session.Peer) error {
	uid, err := owner(pid)
	if err != nil || gone(handle) {
		return unseen(pid, err, "there is no process %d, or it cannot be seen", pid)
	}
	if by.UID != 0 && uid != by.UID {
		return invalid("process %d does not belong to uid %d", pid, by.UID)
	}
	return nil
}

func invalid(format string, args ...any) error { return session.Invalid("bind", format, args...) }

// unseen is invalid, unless err, of reading about process pid, tells nothing of the process.
func unseen(pid int, err error, format string, args ...any) error {
	if exhausted(err) {
		return noDescriptor(pid)
	}
	return invalid(format, args...)
}

func noDescriptor(pid int) error {
	return full("the gateway has no file descriptor left to look at process %d with; raise its limit (ulimit -n, LimitNOFILE=)", pid)
}

// gone tells whether the process has exited: its handle, a descriptor, is readable from then
// on.
func gone(handle int) bool {
	fds := []unix.PollFd{{Fd: int32(handle), Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(fds, 0)
		if !errors.Is(err, unix.EINTR) {
			return n > 0
		}
	}
}

// lookPause is how often a process is looked at that nothing tells of.
const lookPause = time.Second

// look waits for the end of a process by looking at it from time to time, where the system
// has no room left to be told of it: that the process lives is no reason to end its session.
func look(ctx context.Context, what string, gone func() bool) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lookPause):
		}
		if gone() {
			return fmt.Errorf("%s has exited", what)
		}
	}
}
