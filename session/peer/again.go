package peer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lockgw/lockgw/session"
)

// Identify tells the process pid from every later process with the same number. A caller that
// watches the process already notices if pid means another process by now.
func Identify(pid int) (session.Process, error) {
	name := command(pid) // before the rest: a process that ends meanwhile is none, and not one without a name
	began, err := readStart(pid)
	if err != nil {
		return session.Process{}, unseen(pid, err, "there is no process %d, or it cannot be seen", pid)
	}
	uid, err := owner(pid)
	switch {
	case exhausted(err):
		return session.Process{}, noDescriptor(pid)
	case err != nil:
		uid = -1
	}
	return session.Process{PID: pid, Started: began, UID: uid, Command: name}, nil
}

// Named identifies the process pid, as the client by names it; what Process says of
// that goes for this, too. It is not held on to.
func Named(pid int, by session.Peer) (session.Process, error) {
	if by.UID < 0 {
		return session.Process{}, invalid("a process can be named over a Unix socket only")
	}
	if err := sameNamespace(by); err != nil {
		return session.Process{}, err
	}
	p, err := Identify(pid)
	if err == nil && by.UID != 0 && p.UID != by.UID {
		err = invalid("process %d does not belong to uid %d", pid, by.UID)
	}
	return p, err
}

// Again is the liveness of a process that was identified before, by this gateway
// process or by an earlier one. by is who has named it then: the descriptor goes on that
// account, however many there are already. While there is none to be had, the process is
// looked for from time to time instead. An error means that it is gone.
func (d *Descriptors) Again(is session.Process, by session.Peer) (session.Liveness, error) {
	what := fmt.Sprintf("process %d", is.PID)
	h, err := reopen(is)
	switch {
	case err == nil:
		return watch(h, what, d.keep(User(by.UID))), nil
	case errors.Is(err, unix.ESRCH):
		return nil, fmt.Errorf("%s has exited while the gateway was away", what)
	}
	return func(ctx context.Context) error {
		for {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(lookPause):
			}
			h, err := reopen(is)
			switch {
			case err == nil:
				return watch(h, what, d.keep(User(by.UID)))(ctx)
			case errors.Is(err, unix.ESRCH):
				return fmt.Errorf("%s has exited", what)
			}
		}
	}, nil
}

// reopen is open for the process that is meant. ESRCH: it is gone. Any other error tells
// nothing of it.
func reopen(is session.Process) (handle int, err error) {
	h, err := open(is.PID)
	// The number cannot pass on while the handle says that its process lives, which
	// watch looks at next.
	began, unread := readStart(is.PID)
	other := unread == nil && began != is.Started
	if err == nil && unread == nil && !other {
		return h, nil
	}
	ended := false // where it is only hidden, as by hidepid or ProtectProc=, the handle still says that it lives
	if err == nil {
		ended = gone(h)
		_ = unix.Close(h)
	}
	if other || absent(err) || ended {
		return 0, unix.ESRCH
	}
	return 0, errors.Join(err, unread)
}

// absent tells whether err, of opening a process, means that there is none of that number: a
// thread may have it.
func absent(err error) bool {
	return errors.Is(err, unix.ESRCH) || errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EINVAL)
}
