package run

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/lockgw/lockgw/cmd/lockgw/e2e"
)

// A chroot often has no /proc.
func TestRunWithoutProc(t *testing.T) {
	const hide = "mount -t tmpfs none /proc && exec "
	if out, err := exec.Command("unshare", "-m", "sh", "-c", hide+"true").CombinedOutput(); err != nil {
		t.Skipf("/proc cannot be hidden here: %v: %s", err, out)
	}
	lockgw, err := exec.LookPath("lockgw")
	if err != nil {
		t.Fatal(err)
	}
	for name, program := range map[string]string{"by its name": "lockgw", "by its path": lockgw} {
		cmd := exec.Command("unshare", "-m", "sh", "-c", hide+program+` run a --on-unavailable run -- sh -c 'exit 7'`)
		cmd.Env = append(os.Environ(), "LOCKGW_SOCKET="+filepath.Join(e2e.ShortDir(t), "none"))
		if out, err := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != 7 {
			t.Errorf("%s: %v, %s, want that it ends as its command", name, err, out)
		}
	}
}
