package servertest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// DieWithParent has a command end with the process of the test, however that ends.
func DieWithParent(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
}

// AwaitStop waits until no thread of a process runs that was sent SIGSTOP, or it is gone.
func AwaitStop(t testing.TB, pid int) {
	t.Helper()
	for end := time.Now().Add(startTimeout); !stands(t, pid); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("process %d does not stand still", pid)
		}
	}
}

func stands(t testing.TB, pid int) bool {
	t.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range threads {
		// PID (COMMAND) STATE ...; a thread that has ended meanwhile does not run
		stat, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		switch state := bytes.TrimSpace(stat[bytes.LastIndexByte(stat, ')')+1:]); state[0] {
		case 'T', 't', 'Z', 'X':
		default:
			return false
		}
	}
	return true
}
