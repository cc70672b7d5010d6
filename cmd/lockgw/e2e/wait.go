package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// Patience is how long a test waits for what has to happen.
const Patience = time.Minute

// Until waits until f is true, for Patience at most.
func Until(f func() bool) {
	for end := time.Now().Add(Patience); !f() && time.Now().Before(end); {
		time.Sleep(5 * time.Millisecond)
	}
}

// ShortDir is a directory for sockets, whose paths must not be long.
func ShortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "lockgw") // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// WantExit waits for cmd, which has to end with the exit code want.
func WantExit(t testing.TB, cmd *exec.Cmd, want int) {
	t.Helper()
	_ = cmd.Wait()
	if got := cmd.ProcessState.ExitCode(); got != want {
		t.Errorf("exit code = %d (%v), want %d", got, cmd.ProcessState, want)
	}
}

// Running tells whether the process is there; a zombie has ended.
func Running(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z")
}
