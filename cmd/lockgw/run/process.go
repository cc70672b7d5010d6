package run

import (
	"errors"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
)

// process is a command in a process group of its own, of which it is the leader.
type process struct {
	pid int // and process group
	// stops receives the signal by which the leader was stopped, as Ctrl-Z does.
	stops chan syscall.Signal
	// done is closed when the leader has ended; then status says how.
	done   chan struct{}
	status syscall.WaitStatus
}

// watchProcess takes charge of a child that leads a group of its own.
func watchProcess(pid int) *process {
	c := &process{pid: pid, stops: make(chan syscall.Signal, 1), done: make(chan struct{})}
	go c.watch()
	return c
}

// watch ends with the leader. run waits for that before it returns.
func (c *process) watch() {
	defer close(c.done)
	for {
		var status syscall.WaitStatus
		_, err := syscall.Wait4(c.pid, &status, unix.WUNTRACED, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return // cannot be: nobody else waits for it
		case status.Stopped():
			select {
			case c.stops <- status.StopSignal():
			default: // one that nobody has looked at yet
			}
		default:
			c.status = status
			return
		}
	}
}

// signal sends s to the whole group.
func (c *process) signal(s syscall.Signal) { _ = syscall.Kill(-c.pid, s) } // nobody left is no error

// kill is the last signal to the group. EPERM: all that is left of it runs as another user.
func (c *process) kill() error { return syscall.Kill(-c.pid, syscall.SIGKILL) }

// killAll is for who has nobody to tell.
func (c *process) killAll() error {
	var s strays
	s.halt(c)
	err := c.kill()
	s.kill()
	return err
}

// othersAlive tells, when the leader has ended, whether somebody else of the
// group is left.
func (c *process) othersAlive() bool {
	for {
		pid, err := syscall.Wait4(-c.pid, nil, unix.WNOHANG, nil)
		if err != nil || pid <= 0 {
			break
		}
	}
	err := syscall.Kill(-c.pid, 0)
	return err == nil || errors.Is(err, unix.EPERM)
}

// ExitCode is that of the leader, or 128 + the signal that ended it.
func (c *process) exitCode() int {
	if c.status.Signaled() {
		return cli.ExitSignal + int(c.status.Signal())
	}
	return c.status.ExitStatus()
}

// findCommand looks for name as a shell does, before anything is locked.
func findCommand(name string) (path string, err error) {
	path, err = exec.LookPath(name)
	if errors.Is(err, exec.ErrDot) {
		err = nil // PATH says so
	}
	if err != nil {
		return "", startError(name, err)
	}
	return path, nil
}

func startError(name string, err error) error {
	code := cli.ExitCannotExecute
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, unix.ENOENT) {
		code = cli.ExitNotFound
	}
	if e, ok := errors.AsType[*exec.Error](err); ok {
		err = e.Err // without the name, which is said here
	}
	return cli.Exit(code, &commandError{name: name, err: err})
}

// commandError: the command of run could not be started.
type commandError struct {
	name string
	err  error
}

func (e *commandError) Error() string { return "cannot run " + e.name + ": " + e.err.Error() }
func (e *commandError) Unwrap() error { return e.err }
