package run

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// executable is this program, also when its file was replaced meanwhile. Without /proc, as in a
// chroot, it is looked for as it was called.
func executable() (string, error) {
	const self = "/proc/self/exe"
	if _, err := os.Lstat(self); err == nil {
		return self, nil
	}
	return exec.LookPath(os.Args[0])
}

// launch has the guardian start the command.
func (k *guardian) launch(o startOrder) (startAnswer, error) { return k.ask(o) }

// start starts the command as a child of the run, beside the guardian, and returns a
// handle by which to wait for its end.
func (o startOrder) start() (a startAnswer, pidfd int) {
	a = o.launch(&syscall.SysProcAttr{Setpgid: true, Cloneflags: unix.CLONE_PARENT, PidFD: &pidfd})
	return a, pidfd
}

func cloexecPair() ([2]int, error) {
	return unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
}
