package run

import (
	"encoding/gob"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
)

// startTimeout bounds how long the guardian may take to start the command.
const startTimeout = 30 * time.Second

// guardian is the side of the run; see guardian.go for the other.
type guardian struct {
	p      *os.Process
	socket *os.File
	out    *gob.Encoder  // to the guardian, once it has its order
	done   chan struct{} // closed when the guardian has ended
}

// startGuardian starts a guardian that has nothing to keep yet. Close it.
func startGuardian() (*guardian, error) {
	self, err := executable()
	if err != nil {
		return nil, fmt.Errorf("start the guardian of the locks: %w", err)
	}
	ours, theirs, err := socketPair()
	if err != nil {
		return nil, fmt.Errorf("socket of the guardian: %w", err)
	}
	defer unix.Close(theirs)
	p, err := os.StartProcess(self, []string{"lockgw", "guardian", strconv.Itoa(theirs)}, &os.ProcAttr{
		Files: []*os.File{os.Stdin, os.Stdout, os.Stderr},
		// A group of its own: what is typed on the terminal is for the run.
		Sys: &syscall.SysProcAttr{Setpgid: true},
	})
	if err != nil {
		_ = ours.Close()
		return nil, fmt.Errorf("start the guardian of the locks: %w", err)
	}
	k := &guardian{p: p, socket: ours, done: make(chan struct{})}
	go func() { // ends with Close
		_, _ = p.Wait()
		close(k.done)
	}()
	return k, nil
}

// socketPair makes a socket with an end that a child inherits under the number
// it has here. Among ProcAttr.Files it would get the number of a descriptor that
// the command may be meant to inherit.
func socketPair() (ours *os.File, theirs int, err error) {
	pair, err := cloexecPair()
	if err != nil {
		return nil, -1, err
	}
	_, inherit := unix.FcntlInt(uintptr(pair[1]), unix.F_SETFD, 0)
	if err := errors.Join(inherit, unix.SetNonblock(pair[0], true)); err != nil {
		return nil, -1, errors.Join(err, unix.Close(pair[0]), unix.Close(pair[1]))
	}
	return os.NewFile(uintptr(pair[0]), "guardian"), pair[1], nil
}

// ask gives the guardian its order.
func (k *guardian) ask(o startOrder) (a startAnswer, err error) {
	if err := k.socket.SetDeadline(time.Now().Add(startTimeout)); err != nil {
		return a, err
	}
	k.out = gob.NewEncoder(k.socket)
	if err := k.out.Encode(o); err != nil {
		return a, err
	}
	err = gob.NewDecoder(k.socket).Decode(&a)
	return a, err
}

// tell gives the guardian the deadline of the newest reading, on CLOCK_BOOTTIME; 0: the command
// is suspended, and no time is to be kept.
func (k *guardian) tell(deadline time.Duration) {
	if k.out == nil { // this is the guardian
		return
	}
	patience := 10 * time.Millisecond // one that stands still does not read
	if deadline == 0 {
		patience = time.Second // nothing else is to be done, and one that is not told may kill the command
	}
	_ = k.socket.SetWriteDeadline(time.Now().Add(patience))
	_ = k.out.Encode(deadline) // one that is not told asks the gateway
}

// start has the guardian start the command, and returns it. It may be called once.
// On an error nothing goes on.
func (k *guardian) start(o startOrder) (*process, error) {
	var begun strays
	begun.since()
	a, err := k.launch(o)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		k.undo(&begun)
		return nil, fmt.Errorf("%s has not begun within %s: not run. Its file system may not answer, or somebody has stopped the guardian of the locks", o.Argv[0], cli.Duration(startTimeout))
	case err != nil:
		k.undo(&begun)
		return nil, fmt.Errorf("the guardian of the locks has not started the command: %w", err)
	case a.Late:
		return nil, cli.Exit(cli.ExitLost, errors.New("the locks were about to end before the command could be started: not run"))
	case a.Errno != 0:
		return nil, startError(o.Argv[0], a.Errno)
	}
	return watchProcess(a.PID), nil
}

// undo is for a guardian that does not say whether it has started the command: the kernel may be
// about to, for as long as the file system of the command does not answer.
func (k *guardian) undo(begun *strays) {
	begun.end() // while the locks are held
	k.Close()   // it must not start the command later on
	begun.end() // what it has started meanwhile
}

// Close ends the guardian, and with it what is bound to it. The command has ended,
// or was never started. Close may be called again.
func (k *guardian) Close() {
	_ = k.p.Kill() // it has nothing to do any more, and somebody may have stopped it
	<-k.done
	_ = k.socket.Close()
}
