package history_test

import (
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

// gateway is a real one, which may be killed and started again.
type gateway struct {
	name    string
	program string
	dir     string // of its sockets, its configuration and its log
	proxy   *proxy
	http    *http.Client

	mu     sync.Mutex // guards the fields below
	cmd    *exec.Cmd
	exited chan struct{}
	starts int
}

const gatewayConfig = `node: %[1]s
state_dir: %[2]s/state
session: {reattach: 4s}
http:    {listen: []}
socket:  {dir: %[2]s}
backend: {url: "redis://%[3]s", redis: {guard: %[4]s}}
lock:    {ttl: %[5]s}
log:     {level: warn, format: text}
`

func newGateway(t testing.TB, dir, name, program string, p *proxy, s scenario) *gateway {
	g := &gateway{name: name, program: program, dir: filepath.Join(dir, name), proxy: p}
	if err := os.MkdirAll(filepath.Join(g.dir, "state"), 0o700); err != nil {
		t.Fatal(err)
	}
	guard, ttl := "none", 30*time.Second
	if s.guarded {
		guard, ttl = "quarantine", s.ttl[1]
	}
	text := fmt.Appendf(nil, gatewayConfig, name, g.dir, p.addr, guard, ttl)
	if err := os.WriteFile(filepath.Join(g.dir, "lockgw.yaml"), text, 0o600); err != nil {
		t.Fatal(err)
	}
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

func (g *gateway) socket() string { return filepath.Join(g.dir, "resp.sock") }

// start starts the process; whoever needs it ready calls await.
func (g *gateway) start() error {
	log, err := os.OpenFile(filepath.Join(g.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close() // the process has its own
	cmd := exec.Command(g.program, "serve", "--config", filepath.Join(g.dir, "lockgw.yaml"))
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.Env = append(os.Environ(), "GORACE=halt_on_error=1")
	if err := cmd.Start(); err != nil {
		return err
	}
	exited := make(chan struct{})
	go func() {
		_ = cmd.Wait() // it is killed; its log tells if it died of itself
		close(exited)
	}()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.cmd, g.exited = cmd, exited
	g.starts++
	return nil
}

// kill is kill -9. It returns when the process is gone.
func (g *gateway) kill() {
	g.mu.Lock()
	cmd, exited := g.cmd, g.exited
	g.mu.Unlock()
	if cmd != nil {
		_ = cmd.Process.Kill() // fails only when it is gone already
		<-exited
	}
}

func (g *gateway) signal(s syscall.Signal) {
	g.mu.Lock()
	defer g.mu.Unlock()
	_ = g.cmd.Process.Signal(s)
}

// await returns when the gateway says that it and its store are ready.
func (g *gateway) await(ctx context.Context) error {
	for {
		err := g.ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w\n%s", g.name, err, g.log())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (g *gateway) ready(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://lockgw/readyz", nil)
	if err != nil {
		return err
	}
	resp, err := g.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("readyz: %s", resp.Status)
	}
	return nil
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
	for _, sign := range []string{"panic:", "fatal error:", "DATA RACE"} {
		if at := strings.Index(log, sign); at >= 0 {
			return log[at:min(len(log), at+4000)]
		}
	}
	return ""
}

// descriptors counts the open files of the process.
func (g *gateway) descriptors() int {
	g.mu.Lock()
	pid := g.cmd.Process.Pid
	g.mu.Unlock()
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		return -1
	}
	return len(entries)
}

// build makes the program, with the changes of an overlay file if one is given.
func build(dir, overlay string) (string, error) {
	out := filepath.Join(dir, "lockgw")
	args := append([]string{"build", "-buildvcs=false", "-o", out}, buildFlags...)
	if overlay != "" {
		args = append(args, "-overlay="+overlay)
	}
	text, err := exec.Command("go", append(args, "github.com/lockgw/lockgw/cmd/lockgw")...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build lockgw: %w\n%s", err, text)
	}
	return out, nil
}
