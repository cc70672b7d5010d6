package servertest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// startTimeout is how long a server may take to answer, and to stop.
const startTimeout = time.Minute

// Process is a server's, with all that it prints. A nil one has never been started.
type Process struct {
	cmd    *exec.Cmd
	output bytes.Buffer  // read it only after exited
	exited chan struct{} // closed when it is gone
}

// Launch starts cmd, which ends with the process of the test however that ends.
func Launch(cmd *exec.Cmd) (*Process, error) {
	p := &Process{cmd: cmd, exited: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = &p.output, &p.output
	DieWithParent(cmd)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(p.exited)
		_ = cmd.Wait() // it is killed, or Ready tells what it printed
	}()
	return p, nil
}

// Ready waits until answers says so. Otherwise the error has what the process has printed, and
// it is gone.
func (p *Process) Ready(answers func() bool) error {
	for end := time.Now().Add(startTimeout); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if !p.Running() {
			return fmt.Errorf("it has ended: %s", p.Last())
		}
		if answers() {
			return nil
		}
	}
	p.Kill()
	return fmt.Errorf("no answer in %v, it printed: %s", startTimeout, p.output.String())
}

// Last waits until it has ended, and tells how, and what it has printed.
func (p *Process) Last() string {
	<-p.exited
	return fmt.Sprintf("%v, and printed: %s", p.cmd.ProcessState, p.output.String())
}

// Pid is the number of the process.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Running says that it has not ended.
func (p *Process) Running() bool {
	if p == nil {
		return false
	}
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// Kill ends it at once, as kill -9 does, and then the processes that it has started, and waits
// until they are gone.
func (p *Process) Kill() {
	if p == nil {
		return
	}
	children := p.children()
	_ = p.cmd.Process.Kill() // fails only when it is gone already
	for _, pid := range children {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	<-p.exited
	for _, pid := range children { // memory that they share is in use until then
		for i := 0; !Over(pid) && i < 1000; i++ {
			time.Sleep(2 * time.Millisecond)
		}
	}
}

// children are the processes that it has started, each of which may have a process group of its
// own. They are not known but on Linux.
func (p *Process) children() (pids []int) {
	if !p.Running() {
		return nil
	}
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%[1]d/task/%[1]d/children", p.Pid()))
	for field := range strings.FieldsSeq(string(text)) {
		if n, err := strconv.Atoi(field); err == nil {
			pids = append(pids, n)
		}
	}
	return pids
}

// Ended waits until it has ended by itself, or by a signal.
func (p *Process) Ended(t testing.TB) {
	t.Helper()
	select {
	case <-p.exited:
	case <-time.After(startTimeout):
		p.Kill()
		t.Fatalf("%s goes on; it has printed: %s", p.name(), p.output.String())
	}
}

// Signal sends a signal.
func (p *Process) Signal(t testing.TB, sig syscall.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(sig); err != nil {
		t.Fatalf("send %v to %s: %v", sig, p.name(), err)
	}
}

func (p *Process) name() string { return filepath.Base(p.cmd.Path) }

// Pause has it stand still, with the processes that it has started; connections stay open. It
// returns when no thread runs any more: a thread may run on for a while, and even answer a request.
func (p *Process) Pause(t testing.TB) {
	t.Helper()
	p.Signal(t, syscall.SIGSTOP)
	children := p.children()
	for _, pid := range children {
		_ = syscall.Kill(pid, syscall.SIGSTOP) // it may have ended by itself
	}
	for _, pid := range append(children, p.Pid()) {
		AwaitStop(t, pid)
	}
}

// Resume has it go on, and the others.
func (p *Process) Resume(t testing.TB) {
	t.Helper()
	p.Signal(t, syscall.SIGCONT)
	for _, pid := range p.children() {
		_ = syscall.Kill(pid, syscall.SIGCONT)
	}
}
