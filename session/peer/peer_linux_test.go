package peer

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lockgw/lockgw/session"
)

// accept listens on a Unix socket and returns what connect has connected to it.
func accept(t *testing.T, connect func(path string)) net.Conn {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	connect(path)
	if err := ln.(*net.UnixListener).SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	c, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func TestOfOtherProcess(t *testing.T) {
	var nc *exec.Cmd
	c := accept(t, func(path string) { nc = start(t, 0, "nc", "-U", path) })
	p, err := Of(c)
	if err != nil {
		t.Fatal(err)
	}
	if want := (session.Peer{PID: nc.Process.Pid, UID: os.Getuid(), Command: "nc"}); p != want {
		t.Errorf("peer = %+v, want %+v", p, want)
	}
}

func TestOfTCP(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	c, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if p, err := Of(c); err != nil || p != session.NoPeer() {
		t.Errorf("peer over TCP = %+v, %v, want %+v", p, err, session.NoPeer())
	}
	if _, err := NewDescriptors().Conn(c, session.Boottime()); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("liveness over TCP: err = %v, want %v", err, errors.ErrUnsupported)
	}
}

func TestOfClosed(t *testing.T) {
	c := accept(t, func(path string) { start(t, 0, "nc", "-U", path) })
	c.Close()
	if p, err := Of(c); err == nil || p != session.NoPeer() {
		t.Errorf("peer of a closed socket = %+v, %v, want an error and %+v", p, err, session.NoPeer())
	}
}

// A client that names itself is looked for by its connection, and any other process by its number:
// this one is not there to be asked.
func TestBind(t *testing.T) {
	ours, theirs := net.Pipe()
	defer ours.Close()
	defer theirs.Close()
	if _, _, err := NewDescriptors().Bind(ours, session.Boottime(), me(), os.Getpid()); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a client that names itself, without a connection of the kernel: %v, want %v", err, errors.ErrUnsupported)
	}
	other := start(t, 0, "sleep", "60").Process.Pid
	want, _ := Identify(other)
	alive, is, err := NewDescriptors().Bind(ours, session.Boottime(), me(), other)
	if is != want || err != nil {
		t.Fatalf("another process: %+v, %v, want %+v", is, err, want)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := alive(ctx); !errors.Is(err, context.Canceled) { // and closes what it has open
		t.Errorf("the liveness of another process: %v, want that of the context", err)
	}
}

func TestConn(t *testing.T) {
	var nc *exec.Cmd
	c := accept(t, func(path string) { nc = start(t, 0, "nc", "-U", path) })
	alive, err := NewDescriptors().Conn(c, session.Boottime())
	if err != nil {
		t.Fatal(err)
	}
	done := live(t.Context(), alive)
	stillLives(t, done)
	kill(t, nc)
	if err, want := ended(t, done), fmt.Sprintf("process %d has exited", nc.Process.Pid); err.Error() != want {
		t.Errorf("err = %v, want %s", err, want)
	}
}

// A process that has handed its connection on and exited is none to live by,
// whether or not it was waited for.
func TestConnOfDeadProcess(t *testing.T) {
	for name, end := range map[string]func(*testing.T, *exec.Cmd){
		"waited for": kill,
		"zombie":     func(t *testing.T, cmd *exec.Cmd) { cmd.Process.Kill(); zombified(t, cmd.Process.Pid) },
	} {
		t.Run(name, func(t *testing.T) {
			var nc *exec.Cmd
			c := accept(t, func(path string) { nc = start(t, 0, "nc", "-U", path) })
			end(t, nc)
			_, err := NewDescriptors().Conn(c, session.Boottime())
			refused(t, err, fmt.Sprint(nc.Process.Pid))
		})
	}
}

func TestConnFromOtherNamespace(t *testing.T) {
	asRoot(t)
	c := accept(t, func(path string) {
		start(t, 0, "unshare", "--pid", "--fork", "--kill-child", "nc", "-U", path)
	})
	_, err := NewDescriptors().Conn(c, session.Boottime())
	refused(t, err, "pid namespace")
}

// Where the kernel does not hand out the process, one that began after the
// connection cannot be the one that made it.
func TestOpenOlder(t *testing.T) {
	before := session.Boottime() - tick
	child := start(t, 0, "sleep", "60")
	fd, err := openOlder(child.Process.Pid, session.Boottime())
	if err != nil {
		t.Fatal(err)
	}
	if gone(fd) {
		t.Error("the process is gone, want alive")
	}
	_ = unix.Close(fd)
	fds := count(t, "fd")
	if _, err := openOlder(child.Process.Pid, before); !errors.Is(err, unix.ESRCH) {
		t.Errorf("a process that began later: err = %v, want %v", err, unix.ESRCH)
	}
	if got := count(t, "fd"); got != fds {
		t.Errorf("%d descriptors after the refusal, %d before", got, fds)
	}
}

// The name of a process may look like the rest of its line.
func TestReadStart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a) R 1 (b")
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(sleep, path); err != nil {
		t.Fatal(err)
	}
	before := session.Boottime() - tick
	child := start(t, 0, path, "60")
	after := session.Boottime()
	if got, err := readStart(child.Process.Pid); err != nil || got < before || got > after {
		t.Errorf("began at %v, %v, want between %v and %v", got, err, before, after)
	}
}

func live(ctx context.Context, alive session.Liveness) <-chan error {
	done := make(chan error, 1)
	go func() { done <- alive(ctx) }()
	return done
}

func stillLives(t *testing.T, done <-chan error) {
	t.Helper()
	select {
	case err := <-done:
		t.Fatalf("ended while the process lives: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
}

func ended(t *testing.T, done <-chan error) error {
	t.Helper()
	select {
	case err := <-done:
		if err == nil {
			t.Fatal("ended without a reason")
		}
		return err
	case <-time.After(time.Minute):
		t.Fatal("not ended 10 s after the process did")
		return nil
	}
}
