package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// StartGateway runs a gateway and returns the path of its socket.
func StartGateway(t testing.TB) (path string) {
	path, _ = StartGatewayProcess(t)
	return path
}

// StartGatewayProcess is StartGateway with further flags, and returns the process, too.
func StartGatewayProcess(t testing.TB, args ...string) (path string, p *os.Process) {
	t.Helper()
	dir := ShortDir(t)
	cmd := exec.Command("lockgw", append([]string{"serve", "--http-listen=", "--socket-dir", dir, "--state-dir", t.TempDir()}, args...)...)
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGCONT)
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil && cmd.ProcessState.String() != "signal: killed" { // as by the test
			t.Errorf("gateway: %v", err)
		}
	})
	path = filepath.Join(dir, "resp.sock")
	Until(func() bool { return exec.Command("lockgw", "ls", "--socket", path).Run() == nil })
	return path, cmd.Process
}
