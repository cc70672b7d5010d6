package run

import (
	"bytes"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/cmd/lockgw/e2e"
)

// detour leads to the sockets of a gateway by another path, on which the
// connections to resp.sock can be cut.
type detour struct {
	t      *testing.T
	path   string // of its resp.sock
	target string
	blind  bool // the gateway is not told what a session is to be bound to

	mu    sync.Mutex // guards the fields below
	ln    net.Listener
	conns []net.Conn
	wg    sync.WaitGroup
}

func newDetour(t *testing.T, target string, blind bool) *detour {
	t.Helper()
	dir := e2e.ShortDir(t)
	d := &detour{t: t, path: filepath.Join(dir, cli.RespSocket), target: target, blind: blind}
	d.open()
	t.Cleanup(func() {
		d.cut()
		d.wg.Wait()
	})
	return d
}

func (d *detour) open() {
	d.t.Helper()
	ln, err := net.Listen("unix", d.path)
	if err != nil {
		d.t.Fatal(err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ln = ln
	d.wg.Go(func() {
		for {
			near, err := ln.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("unix", d.target)
			if err != nil {
				near.Close()
				continue
			}
			d.mu.Lock()
			d.conns = append(d.conns, near, far)
			d.mu.Unlock()
			d.wg.Go(func() { d.pump(near, far) })
			d.wg.Go(func() { d.pump(far, near) }) // from the client
		}
	})
}

func (d *detour) pump(to io.WriteCloser, from io.ReadCloser) {
	var w io.Writer = to
	if d.blind {
		w = withoutBind{to}
	}
	_, _ = io.Copy(w, from)
	to.Close()
	from.Close()
}

// withoutBind has a gateway refuse BIND, as one does that cannot watch the process.
type withoutBind struct{ io.Writer }

func (w withoutBind) Write(b []byte) (int, error) {
	return w.Writer.Write(bytes.ReplaceAll(b, []byte("BIND"), []byte("BLND")))
}

// cut ends every connection and lets nobody connect.
func (d *detour) cut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ln.Close()
	for _, c := range d.conns {
		c.Close()
	}
	d.conns = nil
}

// used: somebody has connected since the cut.
func (d *detour) used() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.conns) > 0
}

// A session that is bound to a process outlives its connection, as over a
// restart of the gateway: the command goes on, and its end is told over the next
// connection.
func TestRunReconnects(t *testing.T) {
	d := newDetour(t, e2e.StartGateway(t), false)
	dir := t.TempDir()
	told, err := os.Create(filepath.Join(dir, "told"))
	if err != nil {
		t.Fatal(err)
	}
	defer told.Close()
	cmd := exec.Command("lockgw", "run", "nightly", "--json", "--socket", d.path, "--",
		"sh", "-c", `trap "exit 7" USR1; : >up; while :; do sleep 0.01; done`)
	cmd.Dir, cmd.Stderr = dir, told
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	e2e.Until(func() bool { return cli.Exists(filepath.Join(dir, "up")) })
	d.cut()
	saw := func(event string) bool {
		text, err := os.ReadFile(told.Name())
		return err == nil && strings.Contains(string(text), `"event":"`+event+`","lock":"nightly"`)
	}
	e2e.Until(func() bool { return saw("jeopardy") })
	d.open()
	e2e.Until(d.used)
	if err := cmd.Process.Signal(syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	e2e.WantExit(t, cmd, 7)
	for _, event := range []string{"jeopardy", "released"} {
		if !saw(event) {
			t.Errorf("%s was not told", event)
		}
	}
}

// A gateway that cannot watch processes sees the end of a run that is killed alone: then
// the command ends with it, and all that it has started.
func TestRunKilledUnseen(t *testing.T) {
	d := newDetour(t, e2e.StartGateway(t), true)
	dir := t.TempDir()
	cmd := exec.Command("lockgw", "run", "nightly", "--socket", d.path, "--",
		"sh", "-c", `sh -c 'echo $$ >below; exec sleep 60' & echo $$ >leader; wait`)
	cmd.Dir = dir
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, name := range []string{"leader", "below"} {
		e2e.Until(func() bool {
			text, err := os.ReadFile(filepath.Join(dir, name))
			return err == nil && strings.HasSuffix(string(text), "\n")
		})
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	for _, pid := range pids {
		e2e.Until(func() bool { return !e2e.Running(pid) })
		if e2e.Running(pid) {
			t.Errorf("process %d is still there", pid)
		}
	}
	if out, err := exec.Command("lockgw", "run", "nightly", "--wait", "20s", "--socket", d.path, "--", "true").CombinedOutput(); err != nil {
		t.Errorf("the next one: %v\n%s", err, out)
	}
}
