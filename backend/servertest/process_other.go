//go:build !linux

package servertest

import (
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// DieWithParent is not to be had here: a test that is killed leaves its servers.
func DieWithParent(*exec.Cmd) {}

// AwaitStop gives a process that was sent SIGSTOP some time.
func AwaitStop(testing.TB, int) { time.Sleep(100 * time.Millisecond) }

// Over says that a process has ended, and that somebody has waited for it.
func Over(pid int) bool { return syscall.Kill(pid, 0) != nil }
