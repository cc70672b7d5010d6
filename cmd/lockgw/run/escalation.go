package run

import (
	"errors"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lockgw/lockgw/backend/boottime"
	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/session"
)

// escalation stops a process group in two steps: a signal that asks for the end, and then
// SIGKILL. So it does with the strays of the group. Its alarm goes off when SIGKILL is due.
type escalation struct {
	p     *process
	o     *options
	r     *report
	alarm *boottime.Alarm
	apart bool // p is not below this process, which so cannot adopt its strays

	code    int           // of the reason for which it was begun; 0: it was not
	patient time.Duration // CLOCK_BOOTTIME; when --kill-after is over
	killAt  time.Duration // CLOCK_BOOTTIME; that, or when the locks end if that is sooner
	lost    bool          // nobody renews the locks any more
	killed  bool
	strays  strays
}

// begin asks the group to stop and kills it after --kill-after, at killBy at the
// latest (0: no such time). Begun again it can only become faster.
func (l *escalation) begin(code int, killBy time.Duration, why string) {
	patient := session.Boottime() + l.o.killAfter
	at := patient
	if killBy > 0 {
		at = min(at, killBy)
	}
	l.lost = l.lost || code == cli.ExitLost
	if l.code != 0 {
		if at < l.killAt {
			l.killAt = at
			l.alarm.Set(at)
		}
		return
	}
	l.code, l.patient, l.killAt = code, patient, at
	l.r.say(must, event{Event: "stopping", Reason: why, Signal: unix.SignalName(l.o.signal)}, "%s: stopping the command", why)
	if l.apart {
		l.strays.halt(l.p)
		defer l.strays.send(syscall.SIGCONT)
	} else {
		l.strays.adopt()
		l.strays.look(l.p) // before somebody ends who shows the way to them
	}
	l.p.signal(l.o.signal)
	l.p.signal(syscall.SIGCONT) // one that is stopped could not follow
	l.alarm.Set(at)
}

// later is called when the locks are known to be held until killBy.
func (l *escalation) later(killBy time.Duration) {
	if at := min(l.patient, killBy); l.code != 0 && !l.lost && at > l.killAt {
		l.killAt = at
		l.alarm.Set(at)
	}
}

// kill is the last step.
func (l *escalation) kill() {
	if l.code == 0 || l.killed {
		return
	}
	l.killed = true
	l.strays.halt(l.p)
	defer l.strays.kill()
	e := event{Event: "killing", Signal: "SIGKILL"}
	if err := l.p.kill(); errors.Is(err, unix.EPERM) { // first: there may be little time left
		e.Error = err.Error()
		l.r.say(must, e, "the command has not stopped, and cannot be killed: it runs as another user, as under sudo, and goes on")
		return
	}
	l.r.say(must, e, "the command has not stopped: killing it")
}

// reapTime is how long the kernel may take to end a group that was killed.
const reapTime = 2 * time.Second

// finish waits, once the leader has ended, for the rest of a group that is being
// stopped, and for its strays.
func (l *escalation) finish() {
	if l.code == 0 {
		return
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for l.othersAlive() && session.Boottime() < l.killAt+reapTime {
		select {
		case <-l.alarm.C:
			l.kill()
		case <-tick.C: // nothing tells when a group has become empty
		}
	}
}

// othersAlive tells whether somebody but the leader is left, and has strays stop.
func (l *escalation) othersAlive() bool {
	group := l.p.othersAlive() // first: who leaves the group after that is found by the look
	l.strays.look(l.p)
	if l.killed {
		l.strays.kill()
	} else {
		l.strays.ask(l.o.signal)
	}
	return group || l.strays.left()
}
