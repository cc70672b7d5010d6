package interop

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/lockgw/lockgw/socket/client"
)

const (
	lease = 3 * time.Second // of lockgw and of Redisson's watchdog, where it matters
	delay = time.Second     // of the gateway that has one
)

// nodes are the gateways of a store.
type nodes struct {
	binary  string
	a, b    *gateway
	delayed *gateway // with a lock.delay
	store   *store
	dir     string
}

// gateway is a lockgw process.
type gateway struct {
	dir    string // of its sockets, its state, its configuration and its log
	http   *http.Client
	cmd    *exec.Cmd
	exited chan struct{} // closed when cmd is gone
	other  *gateway      // what that one knows, the store knows
}

const configuration = `node: %[1]s
state_dir: %[2]s/state
lock:     {ttl: %[3]v, delay: %[4]v}
http:     {listen: []}
socket:   {dir: %[2]s}
backend:  {url: "%[5]s"}
log:      {level: info, format: text}
`

// build makes the program.
func build(t testing.TB) string {
	t.Helper()
	if *gatewayAt != "" {
		return *gatewayAt
	}
	out := filepath.Join(t.TempDir(), "lockgw")
	text, err := exec.Command("go", "build", "-buildvcs=false", "-o", out, "github.com/lockgw/lockgw/cmd/lockgw").CombinedOutput()
	if err != nil {
		t.Fatalf("build lockgw: %v\n%s", err, text)
	}
	return out
}

func startNodes(t testing.TB, binary string, s *store) *nodes {
	dir, err := os.MkdirTemp("", "lockgw-") // short: the path of a socket has at most 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	n := &nodes{binary: binary, store: s, dir: dir}
	n.a = n.start(t, "a", 0)
	n.b = n.start(t, "b", 0)
	n.a.other = n.b
	n.delayed = n.start(t, "delayed", delay)
	return n
}

// start starts one more gateway and waits until it is ready. It is killed with
// the test.
func (n *nodes) start(t testing.TB, name string, delay time.Duration) *gateway {
	t.Helper()
	g := &gateway{dir: filepath.Join(n.dir, name), exited: make(chan struct{}), other: n.a}
	if err := os.MkdirAll(filepath.Join(g.dir, "state"), 0o700); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(g.dir, "lockgw.yaml")
	text := fmt.Appendf(nil, configuration, name, g.dir, lease, delay, n.store.url)
	if err := os.WriteFile(config, text, 0o600); err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(g.dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close() // the process has its own
	g.cmd = exec.Command(n.binary, "serve", "--config", config)
	g.cmd.Stdout, g.cmd.Stderr = log, log
	g.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := g.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = g.cmd.Wait() // it is killed; its log tells if it died of itself
		close(g.exited)
	}()
	t.Cleanup(g.kill)
	g.http = &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", g.path("http.sock"))
		},
		MaxIdleConnsPerHost: 20,
	}}
	t.Cleanup(g.http.CloseIdleConnections)
	g.await(t)
	return g
}

func (g *gateway) path(file string) string { return filepath.Join(g.dir, file) }

func (g *gateway) await(t testing.TB) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		resp, err := g.http.Get("http://lockgw/readyz")
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return
			}
		}
		if time.Now().After(deadline) {
			log, _ := os.ReadFile(g.path("log"))
			t.Fatalf("the gateway is not ready: %v\n%s", err, log)
		}
	}
}

// kill is kill -9. It returns when the process is gone.
func (g *gateway) kill() {
	_ = g.cmd.Process.Kill() // fails only when it is gone already
	<-g.exited
}

// dial opens a session that lives by its connection.
func (g *gateway) dial(t testing.TB, notice func(client.Notice)) *client.Client {
	t.Helper()
	c, err := client.Dial(t.Context(), g.path("resp.sock"), client.Options{OnNotice: notice})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// breakLock takes name from its holder, as an operator does.
func (g *gateway) breakLock(name string, fence uint64) error {
	text, err := exec.Command(g.cmd.Path,
		"break", name, "--fence", fmt.Sprint(fence), "--socket", g.path("resp.sock")).CombinedOutput()
	if err != nil {
		return fmt.Errorf("lockgw break: %w: %s", err, text)
	}
	return nil
}
