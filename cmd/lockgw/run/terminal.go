package run

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// terminal is the controlling terminal of this process, as far as a command in a
// process group of its own needs it. Such a command stands in the background and
// is stopped when it reads; it is given the foreground then, and gives it back
// when it is stopped otherwise or ends.
type terminal struct {
	file  *os.File
	given bool // to the group of the command
}

// openTerminal returns nil where there is none, as under cron. All methods may
// be called on nil.
func openTerminal() *terminal {
	file, err := os.OpenFile("/dev/tty", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil
	}
	return &terminal{file: file}
}

// shellWatches tells whether somebody in the session can see that this process's group stands
// still, and wake it. In the group of the session's leader nobody can, as under ssh -t, script(1),
// or in a container: a shell with job control gives each job a group of its own.
func shellWatches() bool {
	leader, err := unix.Getsid(0)
	return err != nil || leader != syscall.Getpgrp()
}

// give makes group the foreground if this process's own is it now.
func (t *terminal) give(group int) bool {
	if t == nil || t.foreground() != syscall.Getpgrp() {
		return false
	}
	t.given = t.setForeground(group)
	return t.given
}

// takeBack makes this process's group the foreground again if give had ended that.
func (t *terminal) takeBack() {
	if t != nil && t.given {
		t.given = false
		t.setForeground(syscall.Getpgrp())
	}
}

// Close takes the foreground back.
func (t *terminal) Close() {
	if t != nil {
		t.takeBack()
		_ = t.file.Close()
	}
}

func (t *terminal) foreground() int {
	group, err := unix.IoctlGetInt(int(t.file.Fd()), unix.TIOCGPGRP)
	if err != nil {
		return -1
	}
	return group
}

func (t *terminal) setForeground(group int) bool {
	return unix.IoctlSetPointerInt(int(t.file.Fd()), unix.TIOCSPGRP, group) == nil
}
