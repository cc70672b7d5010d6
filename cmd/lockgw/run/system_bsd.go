//go:build darwin || freebsd

package run

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

func executable() (string, error) { return os.Executable() }

// launch starts the command and then tells the guardian, because here no process can start a
// child for another. If the run is killed in between, the command goes on and its lock ends.
func (k *guardian) launch(o startOrder) (startAnswer, error) {
	a := o.launch(&syscall.SysProcAttr{Setpgid: true})
	if a.PID == 0 {
		return a, nil
	}
	o.PID = a.PID
	told, err := k.ask(o)
	if err == nil && told.Errno != 0 {
		err = told.Errno
	}
	if err != nil { // the command has no guardian, and must not run without one
		_ = syscall.Kill(-a.PID, syscall.SIGKILL)
		_, _ = syscall.Wait4(a.PID, nil, 0, nil)
	}
	return a, err
}

// start returns a handle by which to wait for the end of the command, which the run has
// started.
func (o startOrder) start() (a startAnswer, kqueue int) {
	kqueue, err := unix.Kqueue()
	if err == nil {
		unix.CloseOnExec(kqueue)
		exit := make([]unix.Kevent_t, 1)
		unix.SetKevent(&exit[0], o.PID, unix.EVFILT_PROC, unix.EV_ADD)
		exit[0].Fflags = unix.NOTE_EXIT
		if _, err = unix.Kevent(kqueue, exit, nil, nil); errors.Is(err, unix.ESRCH) {
			return startAnswer{PID: o.PID}, closedPipe() // it has ended already
		}
	}
	if err != nil && !errors.As(err, &a.Errno) {
		a.Errno = unix.EIO
	}
	a.PID = o.PID
	return a, kqueue
}

// closedPipe is a handle of a process that has ended: readable at once and for ever.
func closedPipe() int {
	var p [2]int
	if unix.Pipe(p[:]) != nil {
		return -1
	}
	_ = unix.Close(p[1])
	return p[0]
}

func cloexecPair() ([2]int, error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err == nil {
		unix.CloseOnExec(pair[0])
		unix.CloseOnExec(pair[1])
	}
	return pair, err
}
