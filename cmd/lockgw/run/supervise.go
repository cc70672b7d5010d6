package run

import (
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lockgw/lockgw/backend/boottime"
	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/socket/client"
)

// supervisor keeps a command and its locks together until the command has ended.
// One goroutine runs it, so that what happens at once is handled in some order.
type supervisor struct {
	o     *options
	r     *report
	h     *hold // without locks: one of which nothing is ever heard
	k     *guardian
	guard *guard
	p     *process
	tty   *terminal
	stop  *escalation
	// orphans tells of children that have ended, where this process has to wait for all.
	orphans chan os.Signal
	// resume: the command is to go on, once its locks are known to be held still.
	resume bool
	// typed: SIGTSTP, as by Ctrl-Z, was passed on and has not stopped the command yet.
	typed bool
	// suspended: the command was stopped, and this process with it.
	suspended bool
	// shaky is the deadline when it was told that a lock is in jeopardy, 0 once it
	// was told that this is over.
	shaky time.Duration
	// asked: a signal has asked for the end.
	asked bool
}

// outcome of a command that was run.
type outcome struct {
	code  int  // the exit code that it leads to
	asked bool // a signal has asked for the end
}

// supervise runs the command at path under h.
func supervise(o *options, r *report, path string, k *guardian, h *hold, signals chan os.Signal) (outcome, error) {
	kill, err := boottime.New()
	if err != nil {
		return outcome{}, err
	}
	defer kill.Close()
	g, err := newGuard(o, h)
	if err != nil {
		return outcome{}, err
	}
	defer g.Close()
	if err := notToStart(h, signals); err != nil {
		return outcome{}, err
	}
	// Before the start: what comes then is for the command.
	cli.Notify(signals, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH, syscall.SIGCONT, syscall.SIGTSTP)
	signal.Ignore(syscall.SIGTTOU)
	p, err := k.start(startOrder{
		Path: path, Argv: o.argv, Env: childEnv(os.Environ(), h), Deadline: g.killBy(),
		Bound: h.bound, Views: h.views, Socket: h.socket, Token: h.token, Signal: o.signal, KillAfter: o.killAfter,
	})
	if err != nil {
		return outcome{}, err
	}
	h.show(p.pid)
	s := &supervisor{o: o, r: r, h: h, k: k, guard: g, p: p, tty: openTerminal(), stop: &escalation{p: p, o: o, r: r, alarm: kill}, orphans: make(chan os.Signal, 1)}
	defer s.tty.Close()
	if os.Getpid() == 1 {
		signal.Notify(s.orphans, syscall.SIGCHLD)
		defer signal.Stop(s.orphans)
		s.reap() // those of whom nothing was told yet
	}
	code := s.run(signals)
	return outcome{code, s.asked}, nil
}

// notToStart is what came between the grant and the start.
func notToStart(h *hold, signals <-chan os.Signal) error {
	select {
	case n := <-h.lost:
		return cli.Exit(cli.ExitLost, fmt.Errorf("%s was lost: %s: not run", n.Lock, lossText(n.Reason)))
	case sig := <-signals:
		return cli.Exit(cli.ExitSignal+int(sig.(syscall.Signal)), nil)
	default:
		return nil
	}
}

func (s *supervisor) run(signals <-chan os.Signal) int {
	var runtime <-chan time.Time
	if s.o.maxRuntime > 0 {
		runtime = time.After(s.o.maxRuntime)
	}
	guardian := s.k.done
	for {
		select {
		case <-s.p.done:
			return s.ended()
		case sig := <-signals:
			s.forward(sig.(syscall.Signal))
		case sig := <-s.p.stops:
			s.stopped(sig)
		case <-s.orphans:
			s.reap()
		case <-runtime:
			s.stop.begin(cli.ExitMaxRuntime, s.guard.killBy(), "--max-runtime "+cli.Duration(s.o.maxRuntime)+" is over")
		case <-s.stop.alarm.C:
			s.stop.kill()
		case n := <-s.h.lost:
			s.lose(fmt.Sprintf("%s (fence %d) was lost: %s", n.Lock, n.Fence, lossText(n.Reason)))
		case n := <-s.h.jeopardy:
			s.r.say(must, event{Event: "jeopardy", Lock: n.Lock, Fence: n.Fence, Reason: n.Reason}, "%s is in jeopardy: %s", n.Lock, n.Reason)
			s.shaky = s.guard.deadline
			s.h.look()
		case holds := <-s.h.reads:
			if s.guard.update(holds) {
				s.k.tell(s.guard.deadline)
			} else {
				s.lose("the gateway does not know the locks any more")
			}
			s.calm(holds)
			s.stop.later(s.guard.killBy())
			s.goOn()
		case err := <-s.h.over:
			s.lose(err.Error())
		case <-guardian:
			guardian = nil // told once
			s.unguarded()
		case <-s.guard.alarm.C:
			if s.guard.due(s.suspended) {
				s.lose("the locks could not be renewed and are about to end")
			}
		}
	}
}

// reap waits for those who have ended after their parents, as the first process of a container
// has to: otherwise they stay, and count for its limit of processes.
func (s *supervisor) reap() {
	for _, pid := range childrenOf(os.Getpid()) {
		if pid != s.p.pid && pid != s.k.p.Pid { // others wait for these
			_, _ = syscall.Wait4(pid, nil, unix.WNOHANG, nil) // most live
		}
	}
}

// lose stops the command before somebody else can have its locks.
func (s *supervisor) lose(why string) { s.stop.begin(cli.ExitLost, s.guard.killBy(), why) }

// unguarded is called when the guardian has ended. Locks that are bound to it are free from then
// on, so that the command has no time to stop.
func (s *supervisor) unguarded() {
	if len(s.h.views) == 0 {
		return
	}
	killBy := s.guard.killBy()
	if s.h.bound {
		killBy = session.Boottime()
	}
	s.stop.begin(cli.ExitLost, killBy, "the guardian of the locks has ended, and the locks with it")
}

// ended waits for the rest of a group that is being stopped: when its leader is
// gone, others may still be at work.
func (s *supervisor) ended() int {
	s.stop.finish()
	if s.stop.code != 0 {
		return s.stop.code
	}
	code := s.p.exitCode()
	if killBy := s.guard.killBy(); killBy > 0 && session.Boottime() >= killBy && code == cli.ExitSignal+int(syscall.SIGKILL) {
		s.r.say(must, event{Event: "killing", Signal: "SIGKILL"}, "lockgw run stood still until the locks were about to end: its guardian has killed the command")
		return cli.ExitLost
	}
	return code
}

// forward passes a signal on to the command. After SIGCONT this process may have
// slept for long: whether the locks are still held comes first.
func (s *supervisor) forward(sig syscall.Signal) {
	if sig != syscall.SIGCONT {
		s.asked = s.asked || slices.Contains(endSignals, os.Signal(sig))
		s.typed = s.typed || sig == syscall.SIGTSTP
		s.p.signal(sig)
		return
	}
	s.resume = true
	if len(s.h.views) == 0 {
		s.goOn()
		return
	}
	s.h.look()
}

// goOn ends a stop by the user.
func (s *supervisor) goOn() {
	if s.resume && (len(s.h.views) == 0 || s.guard.safe()) {
		s.resume, s.suspended = false, false
		s.p.signal(syscall.SIGCONT)
	}
}

// calm tells that a jeopardy has passed. A later deadline proves that; a reading alone may
// be older than the jeopardy.
func (s *supervisor) calm(holds []client.Hold) {
	jeopardy := func(v client.Hold) bool { return v.State == client.Jeopardy }
	if s.shaky != 0 && s.guard.deadline > s.shaky && !slices.ContainsFunc(holds, jeopardy) {
		s.shaky = 0
		s.r.say(must, event{Event: "renewed"}, "the locks are renewed again, and held as before")
	}
}

// stopped handles a stop of the command's leader. If the leader needs the terminal, it gets
// the terminal. If it was stopped otherwise, as by Ctrl-Z, this process stops itself, so that
// its shell notices. It does not for a SIGSTOP that has nothing to do with the terminal: nobody
// would wake it when the command is let go on, and it could neither guard the command nor see it
// end.
func (s *supervisor) stopped(sig syscall.Signal) {
	if s.stop.killed { // it stood still to be killed
		return
	}
	if s.tty == nil || sig == syscall.SIGSTOP && !s.typed && !s.tty.given {
		return // whoever has stopped it will let it go on
	}
	reads := sig == syscall.SIGTTIN || sig == syscall.SIGTTOU
	if reads && s.tty.give(s.p.pid) {
		s.readOn()
		return
	}
	s.tty.takeBack()
	s.typed = false
	switch {
	case shellWatches() && reads:
		s.suspend(syscall.SIGTTIN) // a run around this one gives it the terminal then
	case shellWatches():
		s.suspend(syscall.SIGSTOP)
	case !reads: // it would only be stopped again
		s.p.signal(syscall.SIGCONT) // as the kernel, which does not stop such a group by a Ctrl-Z
	}
}

// suspend stops this process as its command was, which does no harm meanwhile.
func (s *supervisor) suspend(by syscall.Signal) {
	s.suspended = true
	s.k.tell(0)
	_ = unix.Kill(os.Getpid(), by)
}

// readOn lets the command go on that has got the terminal. SIGCONT undoes a Ctrl-Z that
// came while the command stood still, so that one is passed on again.
func (s *supervisor) readOn() {
	s.p.signal(syscall.SIGCONT)
	if s.typed {
		s.p.signal(syscall.SIGTSTP)
	}
}

// lossText is the reason of a loss as events name it, and in words.
func lossText(reason string) string {
	if sentence := session.LossSentence(reason); sentence != "" {
		return reason + " (" + sentence + ")"
	}
	return reason
}
