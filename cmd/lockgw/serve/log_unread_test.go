package serve

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/lockgw/lockgw/cmd/lockgw/e2e"
)

// A gateway whose log nobody reads serves all the same, and ends when it is asked to.
func TestLogUnread(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if err := e2e.FillPipe(w); err != nil {
		t.Fatal(err)
	}
	dir := e2e.ShortDir(t)
	gateway := exec.Command("lockgw", "serve", "--http-listen=", "--socket-dir", dir, "--state-dir", t.TempDir())
	gateway.Stderr = w
	if err := gateway.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = gateway.Process.Kill() })
	ls := func() error { return exec.Command("lockgw", "ls", "--socket", filepath.Join(dir, "resp.sock")).Run() }
	e2e.Until(func() bool { return ls() == nil })
	if err := ls(); err != nil {
		t.Errorf("ls: %v", err)
	}
	if err := gateway.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	e2e.WantExit(t, gateway, 0)
}
