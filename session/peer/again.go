package peer

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/lockgw/lockgw/session"
)

// Identify tells the process pid from every later process with the same number. A caller that
// watches the process already notices if pid means another process by now.
func Identify(pid int) (session.Process, error) {
	name := command(pid) // before the rest: a process that ends meanwhile is none, and not one without a name
	began, err := readStart(pid)
	if err != nil {
		return session.Process{}, invalid("there is no process %d, or it cannot be seen", pid)
	}
	uid, err := owner(pid)
	if err != nil {
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
// account, however many there are already. An error means that it is gone.
func (d *Descriptors) Again(is session.Process, by session.Peer) (session.Liveness, error) {
	gone := fmt.Errorf("process %d has exited while the gateway was away", is.PID)
	h, err := open(is.PID)
	if err != nil {
		return nil, fmt.Errorf("%w (%w)", gone, err)
	}
	// The number cannot pass on while the handle says that its process lives, which
	// watch looks at next.
	if began, err := readStart(is.PID); err != nil || began != is.Started {
		_ = unix.Close(h)
		return nil, gone
	}
	return watch(h, fmt.Sprintf("process %d", is.PID), d.keep(User(by.UID))), nil
}
