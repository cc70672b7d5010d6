package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/socket"
)

func TestFindSocket(t *testing.T) {
	own, system, none := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "none")
	for _, dir := range []string{own, system} {
		if err := os.WriteFile(filepath.Join(dir, respSocket), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct{ own, system, want string }{
		{own, system, own}, {own, none, own}, {none, system, system}, {none, none, none},
	} {
		got, err := findSocket(tt.own, tt.system, os.Geteuid())
		if want := filepath.Join(tt.want, respSocket); got != want || err != nil {
			t.Errorf("findSocket(%q, %q) = %q, %v; want %q", tt.own, tt.system, got, err, want)
		}
	}
}

// What keeps a user from the gateway is told, and what to do about it.
func TestConnectionError(t *testing.T) {
	dial := func(err error) error { return &net.OpError{Op: "dial", Net: "unix", Err: err} }
	for _, tt := range []struct {
		err  error
		want string
	}{
		{dial(syscall.EACCES), "you may not use the gateway at /s: permission denied; .*usermod"},
		{dial(syscall.ECONNREFUSED), "no gateway at /s: connection refused; .*lockgw serve"},
		{context.DeadlineExceeded, "the gateway at /s does not answer"},
		{fmt.Errorf("closed: %w", io.EOF), "the gateway at /s has closed the connection"},
	} {
		err := gatewayError("/s", tt.err)
		if code, text := exitCode(err); code != exitUnavailable || !regexp.MustCompile(tt.want).MatchString(text) {
			t.Errorf("%v = %d %q, want %d %q", tt.err, code, text, exitUnavailable, tt.want)
		}
	}
}

func TestFindSocketForeign(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root may give a directory away")
	}
	own := t.TempDir()
	if err := os.Chown(own, 4711, -1); err != nil {
		t.Fatal(err)
	}
	got, err := findSocket(own, "/nosuch", 4712)
	if err == nil || !strings.Contains(err.Error(), "user with id 4711") {
		t.Errorf("a directory of another user = %q, %v; want a refusal that names the user", got, err)
	}
	if _, err := findSocket(own, "/nosuch", 4711); err != nil {
		t.Errorf("one's own directory: %v", err)
	}
}

// All or none: the locks that were had before one that was not are given back,
// also where this process goes on, as with --on-unavailable run.
func TestAcquireAllOrNone(t *testing.T) {
	path := startGateway(t)
	c, err := socket.Dial(t.Context(), path, socket.DialOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Lock(t.Context(), "b", socket.LockOptions{}); err != nil {
		t.Fatal(err)
	}
	o := &runOptions{gatewayFlags: gatewayFlags{socket: path}, names: []string{"a", "b"}, conflictCode: exitNotAcquired}
	k := testKeeper(t)
	_, err = acquire(t.Context(), o, &report{quiet: true, w: io.Discard}, k)
	if code, message := exitCode(err); code != exitNotAcquired || !strings.Contains(message, "b is still held") {
		t.Fatalf("acquire a and b = %d %q, want %d", code, message, exitNotAcquired)
	}
	k.Close()
	var st session.Status
	until(func() bool {
		st, err = c.Info(context.Background(), "a")
		return err == nil && st.State == session.StateFree
	})
	if st.State != session.StateFree {
		t.Errorf("a is %s, %v; want it given back", st.State, err)
	}
}

// A lock that was renewed while the next one was waited for has a new deadline.
func TestAcquireKnowsDeadlines(t *testing.T) {
	path := startGateway(t)
	c, err := socket.Dial(t.Context(), path, socket.DialOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Lock(t.Context(), "b", socket.LockOptions{}); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(1200*time.Millisecond, func() { c.Close() })
	o := &runOptions{gatewayFlags: gatewayFlags{socket: path}, names: []string{"a", "b"}, wait: patience, ttl: time.Second}
	h, err := acquire(t.Context(), o, &report{quiet: true, w: io.Discard}, testKeeper(t))
	if err != nil {
		t.Fatal(err)
	}
	defer h.close()
	for _, v := range h.views {
		if left := v.Deadline - session.Boottime(); left < 300*time.Millisecond {
			t.Errorf("%s: %v left as far as is known, want most of 1s", v.Name, left)
		}
	}
}
