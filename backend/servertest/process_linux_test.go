package servertest

import (
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A server that ends before it answers is told of, with what it printed.
func TestReady(t *testing.T) {
	p, err := Launch(exec.Command("sh", "-c", "echo no room; exit 3"))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Ready(func() bool { return false }); err == nil || !strings.Contains(err.Error(), "no room") {
		t.Errorf("err = %v, want one with what it printed", err)
	}
	if p.Running() {
		t.Error("it runs")
	}
	p.Kill()
	var none *Process
	none.Kill()
	if none.Running() {
		t.Error("what was never started runs")
	}
}

// Once it is paused nothing of it runs.
func TestPause(t *testing.T) {
	p, err := Launch(exec.Command("sleep", "600"))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	for range 100 {
		p.Pause(t)
		if !stands(t, p.Pid()) {
			t.Fatal("it runs although it is paused")
		}
		p.Resume(t)
		for stands(t, p.Pid()) { // it takes note
		}
	}
	p.Signal(t, syscall.SIGTERM)
	p.Ended(t)
}

// A process is over once it has ended, although nobody has waited for it.
func TestOver(t *testing.T) {
	cmd := exec.Command("sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	if Over(pid) {
		t.Error("it is over although it runs")
	}
	_ = cmd.Process.Kill()
	for i := 0; !Over(pid); i++ {
		if i == 5000 {
			t.Fatal("it was killed and is not over")
		}
		time.Sleep(time.Millisecond)
	}
	_ = cmd.Wait()
	if !Over(pid) {
		t.Error("it is gone, and not over")
	}
}
