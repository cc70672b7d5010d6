package run

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/cmd/lockgw/e2e"
)

// In a container lockgw run is often the first process, and its process ids mean
// nothing to a gateway outside: the lock lives by the connection then.
func TestRunInContainer(t *testing.T) {
	path := e2e.StartGateway(t)
	dir := t.TempDir()
	start := func(name, script string) *exec.Cmd {
		cmd := exec.Command("lockgw", "run", "nightly", "--wait", "20s", "--socket", path, "--", "sh", "-c", script)
		cmd.Dir, cmd.SysProcAttr = dir, &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
		if err := cmd.Start(); err != nil {
			t.Skipf("%s: no process ids of its own here: %v", name, err)
		}
		return cmd
	}
	cmd := start("first", `trap "exit 7" TERM; echo $PPID >parent; : >up; while :; do sleep 0.01; done`)
	e2e.Until(func() bool { return cli.Exists(filepath.Join(dir, "up")) })
	if text, err := os.ReadFile(filepath.Join(dir, "parent")); err != nil || string(text) != "1\n" {
		t.Errorf("parent of the command = %q, %v; want process 1", text, err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	e2e.WantExit(t, cmd, 7)

	killed := start("second", `: >up2; exec sleep 60`)
	e2e.Until(func() bool { return cli.Exists(filepath.Join(dir, "up2")) })
	if err := killed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = killed.Wait()
	e2e.WantExit(t, start("third", "exit 3"), 3)
}

// As the first process of a container lockgw run leaves no zombies of those whose parents have ended.
func TestRunReapsInContainer(t *testing.T) {
	const script = `pid=$(sleep 600 >/dev/null & echo $!); kill $pid
		for i in $(seq 1000); do test -e /proc/$pid || exit 7; sleep 0.01; done`
	cmd := exec.Command("unshare", "-pf", "--mount-proc", "lockgw", "run", "a", "--socket", filepath.Join(e2e.ShortDir(t), "none"),
		"--on-unavailable", "run", "--", "sh", "-c", script)
	if out, err := exec.Command("unshare", "-pf", "--mount-proc", "true").CombinedOutput(); err != nil {
		t.Skipf("no process ids of its own here: %v: %s", err, out)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	e2e.WantExit(t, cmd, 7)
}
