// Package e2e is the rig of tests with real gateways: it builds the program, starts
// gateways and what they need, ends them in every way, and looks at them from outside.
//
// history, restarts, interop, doors and the web page's browser start their gateways here.
// docs/shop and bench are programs, not tests, and start theirs by e2e/process, which
// stands below this package. Two things stay where they are used, because sharing them
// would make both sides longer: the proxy of history knows which connections to Redis
// carry messages, and delays or loses replies by a plan; and what a caller writes down is
// what its suite judges, which is calls and answers in history, tokens and fences in
// restarts.
package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/lockgw/lockgw/cmd/lockgw/e2e/process"
	"github.com/lockgw/lockgw/session"
)

// Gateway is a node whose process may be ended and started again.
type Gateway struct {
	Name    string
	Program string
	Dir     string       // of its sockets, its state, its configuration and its log
	Args    []string     // of serve, besides --config
	HTTP    *http.Client // of http.sock; the host of a URL does not matter

	mu    sync.Mutex // guards the fields below
	p     *process.Process
	begun []time.Duration // when each process was started, by session.Boottime
	ready time.Duration   // when the last one was ready
}

// NewGateway is a gateway that is not started yet, in a directory of its own below dir. It
// is killed with the test. config is its configuration as YAML, but for node,
// state_dir and socket.
func NewGateway(t testing.TB, dir, name, program, config string) *Gateway {
	t.Helper()
	g := &Gateway{Name: name, Program: program, Dir: filepath.Join(dir, name)}
	if err := os.MkdirAll(g.State(), 0o700); err != nil {
		t.Fatal(err)
	}
	g.Configure(t, fmt.Sprintf("node: %s\nstate_dir: %s\nsocket: {dir: %s}\n%s", name, g.State(), g.Dir, config))
	g.HTTP = process.Over(g.Path("http.sock"), 100)
	t.Cleanup(func() {
		g.Kill()
		g.HTTP.CloseIdleConnections()
	})
	return g
}

// Path is the path of a file in its directory.
func (g *Gateway) Path(file string) string { return filepath.Join(g.Dir, file) }

// Socket is the path of resp.sock.
func (g *Gateway) Socket() string { return g.Path("resp.sock") }

// State is its state directory.
func (g *Gateway) State() string { return g.Path("state") }

// Configure replaces its configuration, which the next process reads.
func (g *Gateway) Configure(t testing.TB, text string) {
	t.Helper()
	if err := os.WriteFile(g.Path("lockgw.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Configuration is its configuration as it is now.
func (g *Gateway) Configuration(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile(g.Path("lockgw.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Command is the program as it serves. It ends with this process, however that ends.
func (g *Gateway) Command() *exec.Cmd {
	cmd := exec.Command(g.Program, append([]string{"serve", "--config", g.Path("lockgw.yaml")}, g.Args...)...)
	cmd.SysProcAttr = dieWithParent()
	cmd.Env = append(os.Environ(), "GORACE=halt_on_error=1")
	return cmd
}

// Start starts the process; whoever needs it ready calls Await.
func (g *Gateway) Start() error {
	begun := session.Boottime()
	p, err := process.Start(g.Name, g.Command(), g.Path("log"))
	if err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.p, g.begun = p, append(g.begun, begun)
	return nil
}

// process is the present one, nil before the first.
func (g *Gateway) process() *process.Process {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.p
}

// Kill is kill -9. It returns when the process is gone.
func (g *Gateway) Kill() {
	if p := g.process(); p != nil {
		p.Kill()
	}
}

// Stop asks the process to end, as a service manager does.
func (g *Gateway) Stop() error {
	p := g.process()
	if err := p.Stop(Patience); err != nil {
		return err
	}
	if code := p.Cmd.ProcessState.ExitCode(); code != 0 {
		return fmt.Errorf("%s has stopped with exit code %d\n%s", g.Name, code, g.Log())
	}
	return nil
}

// Signal sends s to the process.
func (g *Gateway) Signal(s syscall.Signal) { g.process().Signal(s) }

// Await returns when the gateway says that it and its store are ready.
func (g *Gateway) Await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	ready := func(ctx context.Context) error { return process.Serves(ctx, g.HTTP) }
	if err := g.process().Await(ctx, ready); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ready = session.Boottime()
	return nil
}

// Starts counts the processes, and says when the last was started.
func (g *Gateway) Starts() (n int, last time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.begun), g.begun[len(g.begun)-1]
}

// WasAwayAt reports whether that moment has passed and the present process was not ready by
// then.
func (g *Gateway) WasAwayAt(at time.Duration) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return at < session.Boottime() && (at < g.ready || g.ready < g.begun[len(g.begun)-1])
}

// Log is what its processes have written.
func (g *Gateway) Log() string { return g.process().Said() }

// Complaint is what the gateway wrote when it crashed, or the first of signs in its log with
// what follows it; "" if there is neither.
func (g *Gateway) Complaint(signs ...string) string {
	log := g.Log()
	for _, sign := range append([]string{"panic:", "fatal error:", "DATA RACE"}, signs...) {
		if at := strings.Index(log, sign); at >= 0 {
			return log[at:min(len(log), at+4000)]
		}
	}
	return ""
}

// Descriptors counts the open files of the process.
func (g *Gateway) Descriptors() int {
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", g.process().Cmd.Process.Pid))
	if err != nil {
		return -1
	}
	return len(entries)
}
