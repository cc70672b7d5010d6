package top

import (
	"strings"
	"syscall"
	"testing"

	"github.com/lockgw/lockgw/cmd/lockgw/e2e"
)

// On a real terminal, from a real gateway: it follows, breaks and gives the
// terminal back.
func TestTopTerminal(t *testing.T) {
	path := e2e.StartGateway(t)
	s, cmd := e2e.OnTerminal(t, path, "top", "--every", "50ms")
	s.Await(`No lock is held or waited for`)
	holder, _ := e2e.OnTerminal(t, path, "run", "nightly", "--", "sleep", "600")
	s.Await(`nightly +held`)
	s.Typed("b")
	s.Await(`Take nightly from .*\(sleep\)`)
	s.Typed("y")
	s.Await(`nightly is taken from the holder`)
	holder.Await(`nightly .*was lost: broken \(an administrator has ended it\)`)
	s.Typed("q")
	e2e.WantExit(t, cmd, 0)
}

// It has nothing to complain of when it is asked to end.
func TestTopSignals(t *testing.T) {
	path := e2e.StartGateway(t)
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		s, cmd := e2e.OnTerminal(t, path, "top")
		s.Await(`No lock is held or waited for`)
		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		e2e.WantExit(t, cmd, 0)
		if strings.Contains(s.Shown(), "lockgw: terminal") {
			t.Errorf("%v: terminal shows %q", signal, s.Shown())
		}
	}
}

// On a terminal that cannot be drawn on it writes the locks once.
func TestTopDumb(t *testing.T) {
	s, cmd := e2e.StartOnTerminal(t, e2e.StartGateway(t), "sh", "-c", "TERM=dumb exec lockgw top")
	s.Await(`NAME +STATE +HOLDER`)
	e2e.WantExit(t, cmd, 0)
	if strings.Contains(s.Shown(), "\x1b") {
		t.Errorf("terminal shows %q", s.Shown())
	}
}
