package interop

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience is how long something may take that has to happen.
const patience = 30 * time.Second

// peer is a running program that locks as it is told; testdata/README.md says how.
type peer struct {
	cmd    *exec.Cmd
	stderr bytes.Buffer // read it only after exited
	exited chan struct{}

	mu      sync.Mutex // guards the fields below
	in      io.Writer
	asked   int
	waiting map[string]chan string
}

// startPeer starts command for the servers of s and waits until it is connected.
// It is killed with the test.
func startPeer(t testing.TB, command []string, s *store) *peer {
	t.Helper()
	args := slices.Concat(command[1:], s.peerArgs())
	p := &peer{cmd: exec.Command(command[0], args...), exited: make(chan struct{}), waiting: map[string]chan string{}}
	p.cmd.Stderr = &p.stderr
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	in, err := p.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", command[0], err)
	}
	p.in = in
	ready := make(chan struct{})
	go p.listen(out, ready)
	t.Cleanup(p.kill)
	select {
	case <-ready:
	case <-p.exited:
		t.Fatalf("%s has ended: %s", command[0], p.stderr.String())
	case <-time.After(patience):
		t.Fatalf("%s is not ready in %v", command[0], patience)
	}
	return p
}

// listen hands out the answers until the program ends.
func (p *peer) listen(out io.Reader, ready chan<- struct{}) {
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if lines.Text() == "ready" {
			close(ready)
			continue
		}
		id, answer, _ := strings.Cut(lines.Text(), " ")
		p.mu.Lock()
		if w := p.waiting[id]; w != nil {
			w <- answer
			delete(p.waiting, id)
		}
		p.mu.Unlock()
	}
	_ = p.cmd.Wait() // it is killed, or its last words are told
	close(p.exited)
}

// kill is kill -9. It returns when the process is gone.
func (p *peer) kill() {
	_ = p.cmd.Process.Kill() // fails only when it is gone already
	<-p.exited
}

// ask has a worker of the program do something with a lock and returns the answer.
// What one worker is told about one lock is done in turn.
func (p *peer) ask(worker, operation, kind, name string, args ...string) (string, error) {
	if kind == "" {
		kind = "-"
	}
	answer := make(chan string, 1)
	p.mu.Lock()
	p.asked++
	id := strconv.Itoa(p.asked)
	p.waiting[id] = answer
	_, err := fmt.Fprintln(p.in, strings.Join(append([]string{id, worker + "@" + name, operation, kind, name}, args...), " "))
	p.mu.Unlock()
	if err != nil {
		return "", err
	}
	select {
	case a := <-answer:
		if text, ok := strings.CutPrefix(a, "ok "); ok {
			return text, nil
		}
		return "", fmt.Errorf("%s: %s", operation, a)
	case <-p.exited:
		return "", fmt.Errorf("%s: the program has ended: %s", operation, p.stderr.String())
	}
}
