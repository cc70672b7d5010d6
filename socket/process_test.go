package socket

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/lockgw/lockgw/api"
)

// http serves the other front of the gateway beside this one, and returns the
// path of its socket.
func (g *gateway) http() string {
	g.t.Helper()
	path := filepath.Join(g.t.TempDir(), "http.sock")
	ln, err := net.Listen("unix", path)
	if err != nil {
		g.t.Fatal(err)
	}
	srv := api.NewServer(api.New(api.Config{Manager: g.m}))
	served := make(chan error, 1)
	go func() { served <- srv.Serve(ln) }()
	g.t.Cleanup(func() { srv.Close(); <-served })
	return path
}

// process is a client that is a process of its own.
type process struct {
	t     testing.TB
	cmd   *exec.Cmd
	stdin io.Closer
	says  *bufio.Scanner
	heir  int // pid of its child, 0: none
}

// run starts a client that takes the lock "a", waits for it if need be, and keeps
// it until its standard input ends. With heir it has a child that keeps its
// connection.
func (g *gateway) run(t testing.TB, w way, heir bool) *process {
	t.Helper()
	socket := g.path
	if w != byConnection {
		socket = g.http()
	}
	return runAt(t, w, socket, heir)
}

func runAt(t testing.TB, w way, socket string, heir bool) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.Command(os.Args[0])}
	p.cmd.Env = append(os.Environ(), clientWay+"="+string(w), clientSocket+"="+socket, fmt.Sprintf("%s=%v", clientHeir, heir))
	p.cmd.Stderr = os.Stderr
	var err error
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.says = bufio.NewScanner(out)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.reap)
	if heir {
		if p.heir, err = strconv.Atoi(p.hears("heir")); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// hears waits for a line of the client, and returns what follows the word.
func (p *process) hears(word string) string {
	p.t.Helper()
	for p.says.Scan() {
		if first, rest, _ := strings.Cut(p.says.Text(), " "); first == word {
			return rest
		}
	}
	p.t.Fatalf("the client has ended without saying %q", word)
	return ""
}

// kill ends the client, which is a zombie until reap.
func (p *process) kill() {
	p.t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		p.t.Fatal(err)
	}
}

// exit has the client end by itself.
func (p *process) exit() { p.stdin.Close() }

// live does nothing to the client.
func (p *process) live() {}

// endAll ends the client and its child, as far as they are there.
func (p *process) endAll() {
	_ = p.cmd.Process.Kill()
	if p.heir != 0 {
		_ = syscall.Kill(p.heir, syscall.SIGKILL)
	}
}

func (p *process) reap() {
	p.endAll()
	_ = p.cmd.Wait()
}
