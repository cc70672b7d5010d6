package run

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend/redis/redistest"
	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/cmd/lockgw/e2e"
	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/socket/client"
)

// When nothing is heard of the gateway any more, a command that does not follow
// TERM is dead before its lock can be somebody else's.
func TestRunStopsBeforeDeadline(t *testing.T) {
	path, gateway := e2e.StartGatewayProcess(t)
	dir := t.TempDir()
	// The clock of /proc/uptime is that of the deadline.
	script := `trap "" TERM; echo $LOCKGW_TOKEN >token; while :; do cut -d" " -f1 /proc/uptime >>alive; done`
	cmd := exec.Command("lockgw", "run", "nightly", "--ttl", "6s", "--socket", path, "--", "sh", "-c", script)
	cmd.Dir = dir
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	e2e.Until(func() bool { return cli.Exists(filepath.Join(dir, "alive")) })

	token, err := os.ReadFile(filepath.Join(dir, "token"))
	if err != nil {
		t.Fatal(err)
	}
	deadline := deadlineOf(t, path, strings.TrimSpace(string(token)))
	if err := gateway.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	e2e.WantExit(t, cmd, cli.ExitLost)
	ended := session.Boottime()

	if last := lastUptime(t, dir, "alive"); last > deadline {
		t.Errorf("the command was at work %v after the deadline", last-deadline)
	}
	if late := ended - deadline; late > 20*time.Second { // the command counts; who reports it may be later
		t.Errorf("run has ended %v after the deadline", late)
	}
	if early := deadline - ended; early > time.Second {
		t.Errorf("the command was stopped %v before the deadline of a lease of 6s", early)
	}
}

// Whatever cuts off the gateway of a command, the command is dead before the
// gateway of another machine is granted the lock.
func TestRunStopsBeforeNextGrant(t *testing.T) {
	store := redistest.Start(t)
	for _, tt := range []struct {
		name  string
		fault func(run, gateway *os.Process, link *redistest.Link) error
	}{
		{"the gateway hangs", func(_, p *os.Process, _ *redistest.Link) error { return p.Signal(syscall.SIGSTOP) }},
		{"the gateway is killed", func(_, p *os.Process, _ *redistest.Link) error { return p.Kill() }},
		{"the store does not answer", func(_, _ *os.Process, l *redistest.Link) error { l.Set(redistest.DropReplies); return nil }},
		{"the run stands still, and the gateway hangs", func(r, p *os.Process, _ *redistest.Link) error {
			return errors.Join(r.Signal(syscall.SIGSTOP), p.Signal(syscall.SIGSTOP))
		}},
		{"the run stands still, and the store does not answer", func(r, _ *os.Process, l *redistest.Link) error {
			l.Set(redistest.DropReplies)
			return r.Signal(syscall.SIGSTOP)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			link := redistest.Proxy(t, store.Addr)
			near, gateway := e2e.StartGatewayProcess(t, "--backend-url", "redis://"+link.Addr, "--shutdown-timeout", "0.1")
			far, _ := e2e.StartGatewayProcess(t, "--backend-url", store.URL())
			dir := t.TempDir()
			const works = `'trap "" TERM; while cut -d" " -f1 /proc/uptime >>alive; do :; done' & ` // until the directory is gone
			job := runIn(t, dir, near, "sh -c "+works+"setsid -w sh -c "+works+"timeout 600 sh -c "+works+`trap "" TERM; touch up; wait`)
			e2e.Until(func() bool { return cli.Exists(filepath.Join(dir, "alive")) && cli.Exists(filepath.Join(dir, "up")) })
			next := runIn(t, dir, far, `cut -d" " -f1 /proc/uptime >granted`)
			if err := tt.fault(job.Process, gateway, link); err != nil {
				t.Fatal(err)
			}
			e2e.WantExit(t, next, 0)
			if err := job.Process.Signal(syscall.SIGCONT); err != nil && !errors.Is(err, os.ErrProcessDone) {
				t.Fatal(err)
			}
			e2e.WantExit(t, job, cli.ExitLost)
			if last, granted := lastUptime(t, dir, "alive"), lastUptime(t, dir, "granted"); last > granted { // both to a hundredth of a second
				t.Errorf("the command was at work at %v, the lock was granted to another at %v", last, granted)
			}
		})
	}
}

// A command that was asked to stop has --kill-after for it, also if its lease is shorter:
// that is renewed meanwhile.
func TestRunWaitsForKillAfter(t *testing.T) {
	dir := t.TempDir()
	script := `trap "touch asked" TERM; until test -e asked; do sleep 0.05; done; sleep 2.5; touch done`
	cmd := exec.Command("lockgw", "run", "nightly", "--ttl", "2s", "--max-runtime", "2s", "--kill-after", "20s",
		"--socket", e2e.StartGateway(t), "--", "sh", "-c", script)
	cmd.Dir = dir
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	e2e.WantExit(t, cmd, cli.ExitMaxRuntime)
	if !cli.Exists(filepath.Join(dir, "done")) {
		t.Error("the command was killed before --kill-after was over")
	}
}

// runIn runs a script under the lock nightly.
func runIn(t *testing.T, dir, path, script string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("lockgw", "run", "nightly", "--ttl", "5s", "--socket", path, "--", "sh", "-c", script)
	cmd.Dir = dir
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Signal(syscall.SIGTERM) })
	return cmd
}

// lastUptime is the last line of a file, in seconds on CLOCK_BOOTTIME.
func lastUptime(t *testing.T, dir, name string) time.Duration {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Fields(string(text))
	seconds, err := strconv.ParseFloat(lines[len(lines)-1], 64)
	if err != nil {
		t.Fatal(err)
	}
	return time.Duration(seconds * float64(time.Second))
}

// deadlineOf the only hold of a session.
func deadlineOf(t *testing.T, path, token string) time.Duration {
	t.Helper()
	c, err := client.Dial(t.Context(), path, client.Options{Token: client.Token(token)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	info, err := c.Session(context.Background())
	if err != nil || len(info.Holds) != 1 {
		t.Fatalf("session = %+v, %v; want one hold", info, err)
	}
	return info.Holds[0].Deadline
}
