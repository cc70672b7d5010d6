package check

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// has says whether a shell command succeeds here.
func (p *place) has(command string) bool {
	cmd := exec.Command("bash", "-c", command)
	cmd.Dir, cmd.Env = p.dir, p.env()
	return cmd.Run() == nil
}

// run runs a program to its end, or, if it is to be interrupted, until it has
// printed what it is to print. What it has left running is ended.
func (p *place) run(t *testing.T, n note, program []string) (string, error) {
	t.Helper()
	out, err := os.Create(filepath.Join(p.dir, "block.out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd := exec.CommandContext(t.Context(), program[0], program[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = p.dir, p.env(), out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	end := make(chan error, 1)
	go func() { end <- cmd.Wait() }()
	printed := func() string {
		text, _ := os.ReadFile(out.Name())
		return string(text)
	}
	if n.interrupt {
		until(func() bool { return strings.Contains(printed(), n.prints) || len(end) > 0 })
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGINT)
	}
	select {
	case err = <-end:
	case <-time.After(patience):
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		err = errors.Join(fmt.Errorf("it has not ended in %v", patience), <-end)
	}
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) // there may be nobody left
	return printed(), err
}
