//go:build darwin || freebsd

package peer

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lockgw/lockgw/session"
)

// groupsAt are the groups of the process at the other end of fd: the first 16, of which more are
// not told.
func groupsAt(fd int) (groups []int) {
	cred, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return nil
	}
	for _, gid := range cred.Groups[:min(max(cred.Ngroups, 0), int16(len(cred.Groups)))] {
		groups = append(groups, int(gid))
	}
	return groups
}

// open is a kqueue with one event, the end of the process pid. It stays with that
// process, whoever has its number later. ESRCH also for one that has exited and was not
// waited for.
func open(pid int) (kqueue int, err error) {
	if kqueue, err = unix.Kqueue(); err != nil {
		return 0, err
	}
	unix.CloseOnExec(kqueue)
	exit := make([]unix.Kevent_t, 1)
	unix.SetKevent(&exit[0], pid, unix.EVFILT_PROC, unix.EV_ADD)
	exit[0].Fflags = unix.NOTE_EXIT
	for {
		if _, err = unix.Kevent(kqueue, exit, nil, nil); !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil {
		_ = unix.Close(kqueue)
		return 0, err
	}
	return kqueue, nil
}

// openPeer opens the process with the number that the kernel tells. These kernels do not tell
// whether that is still the process that made the connection.
func openPeer(_ *net.UnixConn, pid int, accepted time.Duration) (kqueue int, err error) {
	return openOlder(pid, accepted)
}

// sameNamespace returns an error if the kernel did not tell the number of the process. These
// systems have one namespace.
func sameNamespace(by session.Peer) error {
	if by.PID <= 0 {
		return invalid("this system does not tell which process has connected")
	}
	return nil
}

// watch makes a Liveness of what open returned, which it owns from now on, as well as
// its use.
func watch(kqueue int, what string, use *Use) session.Liveness {
	held := os.NewFile(uintptr(kqueue), "kqueue")
	runtime.AddCleanup(held, (*Use).Release, use) // of one that is never called
	return func(ctx context.Context) error {
		defer use.Release()
		defer held.Close()
		// A pipe, by which ctx ends the wait, if there is a descriptor left for it.
		r, w, err := os.Pipe()
		if err != nil {
			return look(ctx, what, func() bool { return gone(kqueue) })
		}
		defer r.Close()
		defer context.AfterFunc(ctx, func() { w.Close() })()
		defer w.Close()
		// of descriptors that are not closed before this is over
		fds := []unix.PollFd{{Fd: int32(kqueue), Events: unix.POLLIN}, {Fd: int32(r.Fd()), Events: unix.POLLIN}}
		for {
			_, err = unix.Poll(fds, -1)
			switch {
			case errors.Is(err, unix.EINTR):
			case err != nil:
				return fmt.Errorf("watch %s: %w", what, err)
			case fds[0].Revents != 0:
				return fmt.Errorf("%s has exited", what)
			default:
				return ctx.Err()
			}
		}
	}
}

// owner is the real uid of the process pid.
func owner(pid int) (int, error) {
	p, err := readProcess(pid)
	return p.uid, err
}

// readStart is when the process pid began, by the time of day: good for telling it from
// another one with its number.
func readStart(pid int) (time.Duration, error) {
	p, err := readProcess(pid)
	return p.start, err
}

// began says whether the process pid began before that time on session.Boottime, as
// far as two clocks tell.
func began(pid int, before time.Duration) (bool, error) {
	start, err := readStart(pid)
	ago := session.Boottime() - before
	const apart = 10 * time.Millisecond // how long it may take to read both clocks
	return start <= time.Duration(time.Now().Add(-ago).UnixNano())+apart, err
}

// command is the name of a process for people, "" if it is not known. A process chooses its
// name itself, so no decision may depend on it.
func command(pid int) string {
	p, err := readProcess(pid)
	if err != nil {
		return ""
	}
	return p.command
}

// process is what the kernel tells of one.
type process struct {
	uid     int           // the real one
	start   time.Duration // since 1970
	command string
}
