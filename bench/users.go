package main

import (
	"os"
	"runtime"
	"syscall"
	"time"
)

// Users of the machine. Only root can be several of them; without root all callers are
// the one user that there is, who is an administrator of his gateways.
const (
	healthyUser = 2001
	otherUser   = 2002 // and those after it
)

// severalUsers tells whether callers can be several users.
func severalUsers() bool { return os.Geteuid() == 0 }

// dialer makes connections to Unix sockets as one user.
type dialer struct{ asks chan func() }

// newDialer is a dialer for that user, or for the present one where that may not change.
// It ends with the process.
func newDialer(uid int) *dialer {
	d := &dialer{asks: make(chan func())}
	ready := make(chan struct{})
	go func() {
		runtime.LockOSThread() // never unlocked: the thread alone is that user
		if severalUsers() {
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

func (d *dialer) dial(path string) (w *wire, err error) {
	done := make(chan struct{})
	d.asks <- func() { w, err = dial("unix", path); close(done) }
	<-done
	return w, err
}

// openFiles is how many files a process started from here may have open.
func openFiles() (int, error) {
	var limit syscall.Rlimit
	err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit)
	return int(min(limit.Max, 1<<30)), err
}

// healthy is a caller that goes on as ever: it keeps one name, whose lease is short, and
// locks and unlocks another one again and again.
type healthy struct {
	user          *dialer
	keeper, pairs *wire
	crew          crew
	fence         string
}

const keptName = "kept"

// newKeeper is a healthy caller that only keeps its name.
func newKeeper(g *gateway) (h *healthy, err error) {
	h = &healthy{user: newDialer(healthyUser)}
	if h.keeper, err = h.user.dial(g.resp); err != nil {
		return nil, err
	}
	h.fence, err = h.keeper.reply("LOCK", keptName, "TTL", "10")
	return h, err
}

func newHealthy(g *gateway) (*healthy, error) {
	h, err := newKeeper(g)
	if err != nil {
		return nil, err
	}
	if h.pairs, err = h.user.dial(g.resp); err != nil {
		return nil, err
	}
	lock, unlock := lockAndUnlock("healthy")
	h.crew.ops = []op{func() error {
		if err := h.pairs.ask(lock); err != nil {
			return err
		}
		return h.pairs.ask(unlock)
	}}
	_, err = load(h.crew, 200*time.Millisecond) // warms up
	return h, err
}

// measure is how long its pairs take for d. A refusal is an error, and so is the loss of
// what it keeps: to lock it again is to enter it once more, with the same fence.
func (h *healthy) measure(d time.Duration) (sample, error) {
	s, err := load(h.crew, d)
	if err != nil {
		return s, err
	}
	return s, h.keeps()
}

func (h *healthy) close() {
	h.keeper.Close()
	if h.pairs != nil {
		h.pairs.Close()
	}
}

// keeps is an error if what the caller keeps is lost.
func (h *healthy) keeps() error {
	fence, err := h.keeper.reply("LOCK", keptName)
	if err == nil && fence != h.fence {
		err = lostError{h.fence, fence}
	}
	if err != nil {
		return err
	}
	_, err = h.keeper.reply("UNLOCK", keptName)
	return err
}

type lostError struct{ had, has string }

func (e lostError) Error() string {
	return "the healthy caller has lost its lock: the fence was " + e.had + " and is " + e.has
}
