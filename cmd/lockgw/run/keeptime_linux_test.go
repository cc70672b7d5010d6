package run

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/cmd/lockgw/e2e"
	"github.com/lockgw/lockgw/socket/client"
)

// While a run stands still its guardian goes on to ask the gateway: the command may go on for as
// long as the lock is held, and no longer.
func TestRunStandsStill(t *testing.T) {
	for _, bound := range []bool{true, false} {
		for _, lost := range []bool{false, true} {
			path, dir := e2e.StartGateway(t), t.TempDir()
			cmd := exec.Command("lockgw", "run", "nightly", "--ttl", "1s", "--socket", path, "--",
				"sh", "-c", `trap "" TERM; echo $LOCKGW_TOKEN >new; mv new token; until test -e go; do sleep 0.01; done; exit 3`)
			cmd.Dir = dir
			if !bound { // to the processes of the run, which mean nothing to the gateway then
				cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			e2e.Until(func() bool { return cli.Exists(filepath.Join(dir, "token")) })
			if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			want := 3
			if lost {
				want = cli.ExitLost
				releaseFor(t, path, filepath.Join(dir, "token"))
			}
			time.Sleep(1500 * time.Millisecond) // longer than the lease
			if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			time.Sleep(50 * time.Millisecond) // for a command that is still there to see it
			if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
				t.Fatal(err)
			}
			e2e.WantExit(t, cmd, want)
		}
	}
}

// releaseFor gives back what a command has, whose token is in a file.
func releaseFor(t *testing.T, path, file string) {
	t.Helper()
	token, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.Dial(t.Context(), path, client.Options{Token: client.Token(strings.TrimSpace(string(token)))})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Unlock(t.Context(), "nightly", client.UnlockOptions{}); err != nil {
		t.Fatal(err)
	}
}

// A command that Ctrl-Z has stopped does no harm: its run stops it once both are let go on.
func TestSuspendedLosesItsLock(t *testing.T) {
	path := e2e.StartGateway(t)
	file := filepath.Join(t.TempDir(), "token")
	s, cmd := e2e.StartOnTerminal(t, path, "bash", "-c", `set -m; lockgw run nightly --ttl 2s -- sh -c '
		trap "" TERM; echo $LOCKGW_TOKEN >"$0"; echo up $$.; while :; do :; done' "$0"; jobs; read x; fg; echo "code $?."`, file)
	s.Await(`up \d+\.`)
	pid, err := strconv.Atoi(regexp.MustCompile(`\d+`).FindString(s.Shown()))
	if err != nil {
		t.Fatal(err)
	}
	s.Typed("\x1a")
	s.Await("Stopped")
	releaseFor(t, path, file)
	time.Sleep(2500 * time.Millisecond) // longer than the lease
	if !e2e.Running(pid) {
		t.Error("the command was killed while it was suspended")
	}
	s.Typed("on\n")
	s.Await(`code \d+\.`)
	if !strings.Contains(s.Shown(), "code 122.") {
		t.Errorf("terminal shows %q, want that the lock is lost", s.Shown())
	}
	_ = cmd.Wait()
}
