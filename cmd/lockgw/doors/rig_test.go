package doors

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lockgw/lockgw/cmd/lockgw/e2e"
)

// Users of the machine: who attacks, who is attacked, and somebody else.
const (
	mallory = 1001
	alice   = 1002
	bob     = 1003
)

func TestMain(m *testing.M) {
	code, err := buildAndRun(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func buildAndRun(m *testing.M) (int, error) {
	if os.Getuid() != 0 {
		return 0, fmt.Errorf("these tests need root: only root can be several users")
	}
	return e2e.Main(m)
}

// as runs f as that user. The thread alone becomes that user, and ends.
func as(t testing.TB, uid int, f func() error) error {
	t.Helper()
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked
		if _, _, errno := unix.RawSyscall(unix.SYS_SETGROUPS, 0, 0, 0); errno != 0 {
			done <- errno
			return
		}
		for _, call := range []uintptr{unix.SYS_SETRESGID, unix.SYS_SETRESUID} {
			if _, _, errno := unix.RawSyscall(call, uintptr(uid), uintptr(uid), uintptr(uid)); errno != 0 {
				done <- errno
				return
			}
		}
		done <- f()
	}()
	return <-done
}

// command is a program that this user runs.
func command(uid int, name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = "/"
	if uid != 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
	}
	return cmd
}

// gateway is a lockgw serve.
type gateway struct {
	t   testing.TB
	dir string // of its sockets and its state
	tcp string // the first address of HTTP over TCP
	cmd *exec.Cmd
	log *logBuffer
}

// setup of a gateway.
type setup struct {
	limit  uint64 // of descriptors; 0: as it is
	attr   *syscall.SysProcAttr
	env    []string
	config string   // YAML
	within []string // a command that runs another, its arguments
	args   []string
}

// start runs a gateway whose sockets are open to everybody.
func start(t testing.TB, o setup) *gateway {
	t.Helper()
	g := &gateway{t: t, dir: e2e.ShortDir(t), log: &logBuffer{}}
	if err := os.Chmod(g.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(g.dir, "lockgw.yaml")
	if err := os.WriteFile(file, []byte(o.config), 0o644); err != nil {
		t.Fatal(err)
	}
	args := append([]string{
		"serve", "--config", file, "--http-listen=127.0.0.1:0", "--socket-dir", g.socketDir(), "--socket-mode=0666",
		"--state-dir", filepath.Join(g.dir, "state"), "--log-format=json",
	}, o.args...)
	if o.limit != 0 {
		args = append([]string{"sh", "-c", fmt.Sprintf(`ulimit -n %d; exec "$0" "$@"`, o.limit), e2e.Program()}, args...)
	} else {
		args = append([]string{e2e.Program()}, args...)
	}
	args = append(append([]string{}, o.within...), args...)
	g.cmd = exec.Command(args[0], args[1:]...)
	g.cmd.Env = append(os.Environ(), o.env...)
	g.cmd.Stderr = g.log
	g.cmd.SysProcAttr = o.attr
	if err := g.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = g.cmd.Process.Signal(syscall.SIGKILL)
		_ = g.cmd.Wait()
	})
	e2e.Until(func() bool { return g.logged("serving") != nil })
	serving := g.logged("serving")
	if serving == nil {
		t.Fatalf("the gateway does not serve:\n%s", g.log)
	}
	if http, _ := serving["http"].([]any); len(http) > 0 {
		g.tcp, _ = http[0].(string)
	}
	return g
}

func (g *gateway) socketDir() string { return filepath.Join(g.dir, "sockets") }
func (g *gateway) http() string      { return filepath.Join(g.socketDir(), "http.sock") }
func (g *gateway) resp() string      { return filepath.Join(g.socketDir(), "resp.sock") }

// logged is the last line of the log with that message, nil: there is none.
func (g *gateway) logged(msg string) map[string]any {
	var found map[string]any
	for line := range strings.Lines(g.log.String()) {
		var fields map[string]any
		if json.Unmarshal([]byte(line), &fields) == nil && fields["msg"] == msg {
			found = fields
		}
	}
	return found
}

// connect makes a connection as that user.
func (g *gateway) connect(uid int, network, address string) (c net.Conn, err error) {
	err = as(g.t, uid, func() error {
		c, err = net.DialTimeout(network, address, e2e.Patience)
		return err
	})
	if err == nil {
		g.t.Cleanup(func() { c.Close() })
		_ = c.SetDeadline(time.Now().Add(e2e.Patience))
	}
	return c, err
}

// answer is what came back.
type answer struct {
	status int
	body   string
}

func (a answer) field(name string) string {
	var fields map[string]any
	_ = json.Unmarshal([]byte(a.body), &fields)
	return fmt.Sprint(fields[name])
}

// call sends one request as that user, on a connection of its own.
func (g *gateway) call(uid int, network, method, path, token, body string) answer {
	g.t.Helper()
	address := g.http()
	if network == "tcp" {
		address = g.tcp
	}
	tr := &http.Transport{DisableKeepAlives: true, DialContext: func(context.Context, string, string) (net.Conn, error) {
		return g.connect(uid, network, address)
	}}
	defer tr.CloseIdleConnections()
	req, err := http.NewRequest(method, "http://localhost"+path, strings.NewReader(body))
	if err != nil {
		g.t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := (&http.Client{Transport: tr, Timeout: e2e.Patience}).Do(req)
	if err != nil {
		return answer{0, err.Error()}
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return answer{0, err.Error()}
	}
	return answer{resp.StatusCode, string(text)}
}

// must is call, with the only answer that is right.
func (g *gateway) must(want, uid int, network, method, path, token, body string) answer {
	g.t.Helper()
	a := g.call(uid, network, method, path, token, body)
	if a.status != want {
		g.t.Errorf("uid %d, %s: %s %s = %d %s, want %d", uid, network, method, path, a.status, a.body, want)
	}
	return a
}

// logBuffer takes what a process logs while it runs.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func pid(p *os.Process) string { return strconv.Itoa(p.Pid) }
