package callers

import (
	"os"
	"runtime"
	"syscall"
)

// Users of the machine. Only root can be several of them; without root all callers are
// the one user that there is, who is an administrator of his gateways.
const (
	HealthyUser = 2001 // who goes on as ever
	OtherUser   = 2002 // and those after it
)

// SeveralUsers tells whether callers can be several users.
func SeveralUsers() bool { return os.Geteuid() == 0 }

// Dialer makes connections to Unix sockets as one user.
type Dialer struct{ asks chan func() }

// NewDialer is a dialer for that user, or for the present one where that may not change.
// It ends with the process.
func NewDialer(uid int) *Dialer {
	d := &Dialer{asks: make(chan func())}
	ready := make(chan struct{})
	go func() {
		runtime.LockOSThread() // never unlocked: the thread alone is that user
		if SeveralUsers() {
			become(uid)
		}
		close(ready)
		for ask := range d.asks {
			ask()
		}
	}()
	<-ready
	return d
}

// become makes this thread another user. A failure shows in what that user may not do.
func become(uid int) {
	_, _, _ = syscall.RawSyscall(syscall.SYS_SETGROUPS, 0, 0, 0)
	for _, call := range []uintptr{syscall.SYS_SETRESGID, syscall.SYS_SETRESUID} {
		_, _, _ = syscall.RawSyscall(call, uintptr(uid), uintptr(uid), uintptr(uid))
	}
}

// Dial connects to a Unix socket.
func (d *Dialer) Dial(path string) (w *Wire, err error) {
	done := make(chan struct{})
	d.asks <- func() { w, err = Dial("unix", path); close(done) }
	<-done
	return w, err
}

// OpenFiles is how many files a process started from here may have open.
func OpenFiles() (int, error) {
	var limit syscall.Rlimit
	err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit)
	return int(min(limit.Max, 1<<30)), err
}
