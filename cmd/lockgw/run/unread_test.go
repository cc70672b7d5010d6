package run

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/cmd/lockgw/e2e"
)

// A command is stopped in time also if nobody reads what is said of that.
func TestRunUnread(t *testing.T) {
	dir := t.TempDir()
	path, gateway := e2e.StartGatewayProcess(t, "--shutdown-timeout", "0.1")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := exec.Command("lockgw", "run", "nightly", "--ttl", "5s", "--socket", path, "--", "sh", "-c", `echo $$ >new; mv new pid; exec sleep 600`)
	cmd.Dir, cmd.Stderr = dir, w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	e2e.Until(func() bool { return cli.Exists(filepath.Join(dir, "pid")) })
	if err := e2e.FillPipe(w); err != nil {
		t.Fatal(err)
	}
	if err := gateway.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	pid, err := os.ReadFile(filepath.Join(dir, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	stat := filepath.Join("/proc", strings.TrimSpace(string(pid)))
	e2e.Until(func() bool { return !cli.Exists(stat) })
	if cli.Exists(stat) {
		t.Error("the command goes on without its lock")
	}
	_ = w.Close()
	said, err := io.ReadAll(r)
	if err != nil || !strings.Contains(string(said), "stopping the command\n") {
		t.Errorf("said at last: %q, %v", said[max(0, len(said)-200):], err)
	}
	e2e.WantExit(t, cmd, cli.ExitLost)
}

// What is said after its reader has ended must not end the run: it has a command to stop.
func TestRunBrokenPipe(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Close()
	defer w.Close()
	cmd := exec.Command("lockgw", "run", "nightly", "--max-runtime", "0.5", "--socket", e2e.StartGateway(t), "--", "sleep", "600")
	cmd.Stderr = w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	e2e.WantExit(t, cmd, cli.ExitMaxRuntime)
}
