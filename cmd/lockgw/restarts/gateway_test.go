package restarts

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience is how long something may take that has to happen.
const patience = 30 * time.Second

const (
	ttl      = 15 * time.Second // far more than a restart takes on a busy machine
	reattach = 4 * time.Second
)

// gateway is a node whose process may be ended and started again.
type gateway struct {
	name    string
	program string
	dir     string // of its sockets, its state, its configuration and its log
	http    *http.Client

	mu     sync.Mutex // guards the fields below
	cmd    *exec.Cmd
	exited chan struct{} // closed when cmd is gone
	begun  []time.Duration
	ready  time.Duration // when the last process was ready
}

const gatewayConfig = `node: %[1]s
state_dir: %[2]s/state
session:  {reattach: %[3]v}
lock:     {ttl: %[4]v}
shutdown: {holds: keep, timeout: 10s}
http:     {listen: []}
socket:   {dir: %[2]s}
backend:  {url: "%[5]s"}
log:      {level: info, format: text}
`

func newGateway(t testing.TB, dir, name, program, url string) *gateway {
	g := &gateway{name: name, program: program, dir: filepath.Join(dir, name)}
	if err := os.MkdirAll(g.state(), 0o700); err != nil {
		t.Fatal(err)
	}
	g.configure(t, fmt.Sprintf(gatewayConfig, name, g.dir, reattach, ttl, url))
	g.http = &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(g.dir, "http.sock"))
		},
		MaxIdleConnsPerHost: 100,
	}}
	t.Cleanup(func() {
		g.kill()
		g.http.CloseIdleConnections()
	})
	return g
}

func (g *gateway) configure(t testing.TB, text string) {
	if err := os.WriteFile(filepath.Join(g.dir, "lockgw.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (g *gateway) socket() string { return filepath.Join(g.dir, "resp.sock") }
func (g *gateway) state() string  { return filepath.Join(g.dir, "state") }

// command is the program as it serves; its messages go to the log.
func (g *gateway) command(log *os.File) *exec.Cmd {
	cmd := exec.Command(g.program, "serve", "--config", filepath.Join(g.dir, "lockgw.yaml"))
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.Env = append(os.Environ(), "GORACE=halt_on_error=1")
	return cmd
}

// start starts the process; whoever needs it ready calls await.
func (g *gateway) start() error {
	log, err := os.OpenFile(filepath.Join(g.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close() // the process has its own
	cmd, begun := g.command(log), now()
	if err := cmd.Start(); err != nil {
		return err
	}
	exited := make(chan struct{})
	go func() {
		_ = cmd.Wait() // whoever ends it looks at how it has ended
		close(exited)
	}()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.cmd, g.exited, g.begun = cmd, exited, append(g.begun, begun)
	return nil
}

// starts counts the processes, and says when the last was started.
func (g *gateway) starts() (n int, last time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.begun), g.begun[len(g.begun)-1]
}

func (g *gateway) process() (*exec.Cmd, chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.cmd, g.exited
}

// kill is kill -9. It returns when the process is gone.
func (g *gateway) kill() {
	if cmd, exited := g.process(); cmd != nil {
		_ = cmd.Process.Kill() // fails only when it is gone already
		<-exited
	}
}

// stop asks the process to end, as a service manager does.
func (g *gateway) stop() error {
	cmd, exited := g.process()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("stop %s: %w", g.name, err)
	}
	select {
	case <-exited:
	case <-time.After(patience):
		return fmt.Errorf("%s has not stopped in %v\n%s", g.name, patience, g.log())
	}
	if code := cmd.ProcessState.ExitCode(); code != 0 {
		return fmt.Errorf("%s has stopped with exit code %d\n%s", g.name, code, g.log())
	}
	return nil
}

// await returns when the gateway says that it and its store are ready.
func (g *gateway) await() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_, exited := g.process()
	for {
		a, err := g.call(ctx, http.MethodGet, "/readyz", credentials{})
		if err == nil && a.status == http.StatusOK {
			g.mu.Lock()
			g.ready = now()
			g.mu.Unlock()
			return nil
		}
		select {
		case <-exited:
			return fmt.Errorf("%s has ended by itself\n%s", g.name, g.log())
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w\n%s", g.name, err, g.log())
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// wasAwayAt: that moment has passed, and the present process was not ready by then.
func (g *gateway) wasAwayAt(at time.Duration) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return at < now() && (at < g.ready || g.ready < g.begun[len(g.begun)-1])
}

func (g *gateway) log() string {
	text, err := os.ReadFile(filepath.Join(g.dir, "log"))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// complaint is what the gateway wrote before it died of itself.
func (g *gateway) complaint() string {
	log := g.log()
	for _, sign := range []string{"panic:", "fatal error:", "DATA RACE", "level=ERROR"} {
		if at := strings.Index(log, sign); at >= 0 {
			return log[at:min(len(log), at+4000)]
		}
	}
	return ""
}

// programDir is where build puts the program; it is removed after the last test.
var programDir = filepath.Join(os.TempDir(), fmt.Sprint("lockgw-restarts-", os.Getpid()))

func TestMain(m *testing.M) {
	defer os.RemoveAll(programDir)
	m.Run()
}

// build makes the program, once for all tests.
var build = sync.OnceValues(func() (string, error) {
	out := filepath.Join(programDir, "lockgw")
	args := append([]string{"build", "-buildvcs=false", "-o", out}, buildFlags...)
	text, err := exec.Command("go", append(args, "github.com/lockgw/lockgw/cmd/lockgw")...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build lockgw: %w\n%s", err, bytes.TrimSpace(text))
	}
	return out, nil
})

// mustBuild is the path of the program.
func mustBuild(t testing.TB) string {
	t.Helper()
	program, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// shortDir is a directory whose sockets have paths that the kernel takes.
func shortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "lockgw-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}
