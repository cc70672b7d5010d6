package run

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/cmd/lockgw/e2e"
)

// A command that has become another user cannot be stopped: that is told, and what is left of its
// group counts as at work.
func TestRunOfAnotherUser(t *testing.T) {
	setpriv, err := exec.LookPath("setpriv")
	if err != nil || os.Geteuid() != 0 {
		t.Skipf("only root can make a program that becomes another user (setpriv: %v)", err)
	}
	lockgw, err := exec.LookPath("lockgw")
	if err != nil {
		t.Fatal(err)
	}
	const nobody = 65534
	dir := e2e.ShortDir(t)
	sudo, program, pid := filepath.Join(dir, "sudo"), filepath.Join(dir, "lockgw"), filepath.Join(dir, "pid")
	for to, from := range map[string]string{sudo: setpriv, program: lockgw} {
		b, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(to, b, 0o700)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for file, mode := range map[string]os.FileMode{dir: 0o777, program: 0o755, sudo: 0o755 | os.ModeSetuid} {
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
	}
	// The leader follows TERM. The other one does not hear of it.
	script := sudo + ` --reuid 0 --clear-groups sh -c 'echo $$ >` + pid + `; exec sleep 600' & wait`
	cmd := exec.Command(program, "run", "a", "--socket", filepath.Join(dir, "none"), "--on-unavailable", "run",
		"--max-runtime", "1s", "--kill-after", "0.1", "--", "sh", "-c", script)
	cmd.Dir, cmd.SysProcAttr = dir, &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	told, err := os.Create(filepath.Join(dir, "told")) // no pipe: the other one would keep it open
	if err != nil {
		t.Fatal(err)
	}
	defer told.Close()
	cmd.Stderr = told
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	e2e.WantExit(t, cmd, cli.ExitMaxRuntime)
	text, err := os.ReadFile(pid)
	if err != nil {
		t.Skipf("setuid does nothing here: %v", err)
	}
	other, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(other, syscall.SIGKILL); err != nil {
		t.Fatalf("the other user's process is not there any more: %v", err)
	}
	if said, err := os.ReadFile(told.Name()); err != nil || !bytes.Contains(said, []byte("cannot be killed")) {
		t.Errorf("told %q, %v, want that the command goes on", said, err)
	}
}
