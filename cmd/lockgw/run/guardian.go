package run

import (
	"encoding/gob"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/lockgw/lockgw/backend/boottime"
	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/socket/client"
)

// The guardian is the process that the locks of `lockgw run` are bound to. It ends
// when both the run and the command have ended. If the run is killed, the guardian takes
// over its work. If the run stands still, as after kill -STOP, the guardian sees to it that the
// command has ended before somebody else can have the locks. Otherwise the run releases the
// locks itself, when the command has ended, or, if it was stopped, the last process of its
// group, and --min-hold is over.
//
// On Linux the guardian also starts the command. If the run started it and was killed before
// it told the guardian, nobody would know of the command.

// startOrder is what the run asks of its guardian, once.
type startOrder struct {
	Path string
	Argv []string
	Env  []string
	// Deadline on CLOCK_BOOTTIME from which on nothing is started; 0: none.
	Deadline time.Duration
	// What to know after a run that was killed. A session that lived by it has
	// ended then (Bound is false), so that the command is killed.
	Bound     bool
	Views     []client.Hold
	Socket    string
	Token     client.Token
	Signal    syscall.Signal
	KillAfter time.Duration
	// PID of the command where the run itself has to start it; see start.
	PID int
}

// startAnswer is what the guardian answers.
type startAnswer struct {
	PID   int
	Errno syscall.Errno // why nothing was started
	Late  bool          // the deadline had passed
}

// NewGuardian is the hidden command that a run starts as its guardian.
func NewGuardian() *cobra.Command {
	return &cobra.Command{
		Use:    "guardian DESCRIPTOR",
		Short:  "Keep the locks of a run for as long as its command lives",
		Hidden: true,
		Args:   cli.UsageArgs(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			fd, err := strconv.Atoi(args[0])
			if err == nil {
				err = unix.SetNonblock(fd, true)
			}
			if err != nil {
				return cli.Usagef("the guardian is started by `lockgw run`: descriptor %s: %w", args[0], err)
			}
			syscall.CloseOnExec(fd)
			return keep(os.NewFile(uintptr(fd), "run"))
		},
	}
}

// keep serves the run at the other end of the socket.
func keep(run *os.File) error {
	// A signal that ends the run must not end its guardian before. To ignore the signals is no
	// way, because the command would inherit that.
	cli.Notify(make(chan os.Signal, 1), endSignals...)
	haveThreads()
	var o startOrder
	in := gob.NewDecoder(run)
	if err := in.Decode(&o); err != nil {
		return nil // the run has ended before
	}
	alarm, err := boottime.New()
	if err != nil {
		return err
	}
	defer alarm.Close()
	answer, handle := o.start()
	_ = gob.NewEncoder(run).Encode(answer) // a run that has ended is seen below
	// Whoever reads what the command writes waits for the last one to close it.
	err = errors.Join(os.Stdin.Close(), os.Stdout.Close(), os.Stderr.Close(), os.Chdir("/"))
	if err != nil {
		return fmt.Errorf("close what belongs to the command: %w", err)
	}
	p := &process{pid: answer.PID, done: make(chan struct{})}
	go func() { // ends with the command
		if p.pid != 0 {
			_ = waitExit(handle)
		}
		close(p.done)
	}()
	o.keepTime(in, alarm, p)
	switch {
	case p.pid == 0, len(o.Views) == 0:
		return nil
	case o.Bound:
		return o.hold().guard(p)
	default:
		return p.killAll() // a run that ends well has ended its guardian before
	}
}

// launch starts the command as sys says, unless it is too late for that.
func (o startOrder) launch(sys *syscall.SysProcAttr) (a startAnswer) {
	if o.Deadline > 0 && session.Boottime() >= o.Deadline {
		return startAnswer{Late: true}
	}
	p, err := os.StartProcess(o.Path, o.Argv, &os.ProcAttr{Env: o.Env, Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}, Sys: sys})
	if err == nil {
		return startAnswer{PID: p.Pid}
	}
	if !errors.As(err, &a.Errno) {
		a.Errno = unix.EIO // never seen: what the kernel answers is an Errno
	}
	return a
}

// waitExit waits until the process of a handle, which is readable then, has ended.
func waitExit(handle int) error {
	fds := []unix.PollFd{{Fd: int32(handle), Events: unix.POLLIN}}
	for {
		_, err := unix.Poll(fds, -1)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
