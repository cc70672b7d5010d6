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
		switch stateIn(path) {
		case 'T', 't', 'Z', 'X':
		default:
			return false
		}
	}
	return true
}

// Over says that a process has ended, whether somebody has waited for it or not: the first
// process of a container often does not.
func Over(pid int) bool {
	state := stateIn(fmt.Sprintf("/proc/%d/stat", pid))
	return state == 'Z' || state == 'X'
}

// stateIn is the state in a stat file of /proc, X if that is gone: PID (COMMAND) STATE ...
func stateIn(path string) byte {
	stat, err := os.ReadFile(path)
	if err != nil {
		return 'X'
	}
	return bytes.TrimSpace(stat[bytes.LastIndexByte(stat, ')')+1:])[0]
}
