package peer

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
	if err := ln.(*net.UnixListener).SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
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
	if _, err := Conn(c); !errors.Is(err, errors.ErrUnsupported) {
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

func TestConn(t *testing.T) {
	var nc *exec.Cmd
	c := accept(t, func(path string) { nc = start(t, 0, "nc", "-U", path) })
	alive, err := Conn(c)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip("this kernel has no SO_PEERPIDFD")
	}
	if err != nil {
		t.Fatal(err)
	}
	done := live(t.Context(), alive)
	stillLives(t, done)
	kill(t, nc)
	if err := ended(t, done); !strings.Contains(err.Error(), "has exited") {
		t.Errorf("err = %v, want it to say that the process has exited", err)
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
	case <-time.After(5 * time.Second):
		t.Fatal("not ended 5 s after the process did")
		return nil
	}
}
