//go:build !linux

package servertest

import (
	"os/exec"
	"testing"
	"time"
)

// DieWithParent is not to be had here: a test that is killed leaves its servers.
func DieWithParent(*exec.Cmd) {}

// AwaitStop gives a process that was sent SIGSTOP some time.
func AwaitStop(testing.TB, int) { time.Sleep(100 * time.Millisecond) }
