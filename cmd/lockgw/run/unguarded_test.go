package run

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/cmd/lockgw/e2e"
)

// seesSignals begins a script that tells of SIGWINCH.
const seesSignals = `trap ': >$SEEN' WINCH; `

// awaitSupervisor returns when the supervisor passes signals on, once the command sees them:
// its guardian has answered by then.
func awaitSupervisor(signals chan<- os.Signal) {
	signals <- syscall.SIGWINCH
	e2e.Until(func() bool { return cli.Exists(os.Getenv("SEEN")) })
}

// Locks that are bound to a guardian are free when somebody kills it: there is no --kill-after
// for the command then.
func TestSuperviseUnguarded(t *testing.T) {
	f, k := newFake(t), testGuardian(t)
	f.lease = time.Hour
	pid := filepath.Join(t.TempDir(), "pid")
	t.Setenv("SEEN", pid+".seen")
	o := &options{
		names: []string{"a"}, argv: []string{"sh", "-c", seesSignals + `trap "" TERM; echo $$ >$0; while :; do sleep 0.01; done`, pid},
		signal: syscall.SIGTERM, killAfter: time.Hour,
	}
	h, err := acquireFrom(t, f, o)
	if err != nil {
		t.Fatal(err)
	}
	ended, signals := make(chan outcome, 1), make(chan os.Signal, 16)
	go func() {
		out, err := supervise(o, &report{w: &spoken{}}, "/bin/sh", k, h, signals)
		if err != nil {
			t.Error(err)
		}
		ended <- out
	}()
	leader := 0
	e2e.Until(func() bool {
		text, _ := os.ReadFile(pid)
		leader, _ = strconv.Atoi(strings.TrimSpace(string(text)))
		return leader > 0
	})
	awaitSupervisor(signals)
	if err := k.p.Kill(); err != nil {
		t.Fatal(err)
	}
	e2e.Until(func() bool { return len(ended) > 0 })
	if len(ended) == 0 {
		t.Error("the command is still at work")
		_ = syscall.Kill(-leader, syscall.SIGKILL)
	}
	if out := <-ended; out.code != cli.ExitLost {
		t.Errorf("exit code %d, want %d", out.code, cli.ExitLost)
	}
}

// A command that runs without locks has nothing that a guardian could keep.
func TestUnlockedUnguarded(t *testing.T) {
	k, dir := testGuardian(t), t.TempDir()
	up, on := filepath.Join(dir, "up"), filepath.Join(dir, "go")
	t.Setenv("UP", up)
	t.Setenv("GO", on)
	t.Setenv("SEEN", filepath.Join(dir, "seen"))
	o := &options{argv: []string{"sh", "-c", seesSignals + untilGo}, signal: syscall.SIGTERM, killAfter: time.Hour}
	signals := make(chan os.Signal, 16)
	go func() {
		e2e.Until(func() bool { return cli.Exists(up) })
		awaitSupervisor(signals)
		_ = k.p.Kill()
		<-k.done
		time.Sleep(100 * time.Millisecond) // for the run to notice
		_ = os.WriteFile(on, nil, 0o600)
	}()
	var told spoken
	h := newHold(o)
	defer h.quit()
	out, err := supervise(o, &report{w: &told}, "/bin/sh", k, h, signals)
	if err != nil || out.code != 3 || told.String() != "" {
		t.Errorf("exit code %d, err %v, told %q, want that of the command and nothing", out.code, err, told.String())
	}
}
