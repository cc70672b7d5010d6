package run

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/session"
)

func testGuardian(t *testing.T) *guardian {
	t.Helper()
	k, err := startGuardian()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.Close)
	return k
}

// A guardian that was stopped for a while must not start a command whose locks are
// another's by now.
func TestGuardianStartsNothingLate(t *testing.T) {
	ran := filepath.Join(t.TempDir(), "ran")
	_, err := testGuardian(t).start(startOrder{Path: "/usr/bin/touch", Argv: []string{"touch", ran}, Deadline: session.Boottime()})
	if got, message := cli.ExitCode(err); got != cli.ExitLost || !strings.Contains(message, "not run") {
		t.Errorf("started at its deadline: exit code %d %q, want %d", got, message, cli.ExitLost)
	}
	if cli.Exists(ran) {
		t.Error("the command was run")
	}
}

// What ends a run, or is meant for all of lockgw, does not end its guardian.
func TestGuardianOutlivesSignals(t *testing.T) {
	k := testGuardian(t)
	p, err := k.start(startOrder{Path: "/bin/sleep", Argv: []string{"sleep", "60"}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { <-p.done }()
	defer p.signal(syscall.SIGKILL)
	for _, s := range endSignals {
		if err := k.p.Signal(s); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case <-k.done:
		t.Error("the guardian has ended")
	case <-time.After(200 * time.Millisecond):
	}
}

// The end of the guardian is seen where the start is waited for.
func TestGuardianGone(t *testing.T) {
	k := testGuardian(t)
	if err := k.p.Kill(); err != nil {
		t.Fatal(err)
	}
	<-k.done
	_, err := k.start(startOrder{Path: "/bin/true", Argv: []string{"true"}})
	if got, message := cli.ExitCode(err); got != cli.ExitFailed || !strings.Contains(message, "guardian") {
		t.Errorf("started by a guardian that is gone: exit code %d %q, want %d", got, message, cli.ExitFailed)
	}
}
