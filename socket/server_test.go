package socket

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lockgw/lockgw/session"
)

func TestUnknownPeer(t *testing.T) {
	g := start(t, func(o *setup) {
		o.socket.peerOf = func(net.Conn) (session.Peer, error) { return session.NoPeer(), errors.New("no answer") }
	})
	if got := g.dial().rest(); got != "-NOAUTH it is not known who you are: no answer\r\n" {
		t.Errorf("an unknown peer gets %q", got)
	}
}

// P36: connections are limited, in all and for each user.
func TestTooManyConnections(t *testing.T) {
	for name, limits := range map[string]Limits{"in all": {Conns: 3}, "of a user": {ConnsPerUID: 3}} {
		t.Run(name, func(t *testing.T) {
			g := start(t, func(o *setup) {
				o.socket.Limits = limits
				o.socket.peerOf = func(net.Conn) (session.Peer, error) { return session.Peer{UID: 1001}, nil } // root is let in
			})
			var open []*wire
			for range 3 {
				w := g.dial()
				w.want("PONG", "PING")
				open = append(open, w)
			}
			if got := g.dial().rest(); !strings.HasPrefix(got, "-BUSY ") || !strings.Contains(got, " 3 connections") {
				t.Errorf("the fourth connection gets %q, want -BUSY", got)
			}
			open[0].want("PONG", "PING")
			open[0].Close()
			eventually(t, "another may come when one has gone", func() bool {
				w := g.dial()
				defer w.Close()
				return fmt.Sprint(w.do("PING")) == "PONG"
			})
		})
	}
}

// stop is Shutdown in the background.
func stop(ctx context.Context, g *gateway) <-chan error {
	done := make(chan error, 1)
	go func() { done <- g.Shutdown(ctx) }()
	return done
}

func TestShutdown(t *testing.T) {
	g := start(t)
	idle, busy, holder := g.dial(), g.dial(), g.dial3()
	idle.want("PONG", "PING")
	holder.lock("a")
	busy.send("LOCK", "a", "WAIT", "60")
	g.waiters(1)
	busy.send("PING") // behind the wait
	time.Sleep(2 * patience)
	done := stop(t.Context(), g)
	idle.rest()
	holder.rest()
	if _, err := net.Dial("unix", g.path); err == nil {
		t.Error("a connection was accepted while shutting down")
	}
	select {
	case err := <-done:
		t.Fatalf("shut down under a command: %v", err)
	case <-time.After(30 * time.Millisecond):
	}
	g.m.Drain()
	if got := fmt.Sprint(busy.read()); !strings.HasPrefix(got, "DRAINING ") {
		t.Errorf("the wait is answered with %s, want DRAINING", got)
	}
	if got := busy.read(); got != "PONG" {
		t.Errorf("the command behind the wait is answered with %v, want PONG", got)
	}
	busy.rest()
	if err := <-done; err != nil {
		t.Errorf("shutdown: %v", err)
	}
	if st := g.m.Stats(); st.Holds != 1 || st.Sessions != 2 {
		t.Errorf("%+v after the shutdown, want the hold as it was: its client is not gone", st)
	}
	if err := g.Shutdown(t.Context()); err != nil {
		t.Errorf("a second shutdown: %v", err)
	}
}

func TestShutdownCutOff(t *testing.T) {
	g := start(t)
	a, b := g.dial(), g.dial()
	a.lock("a")
	b.send("LOCK", "a", "WAIT", "60")
	g.waiters(1)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := <-stop(ctx, g); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("shutdown = %v, want %v", err, context.DeadlineExceeded)
	}
	if got := b.rest(); got != "" {
		t.Errorf("a wait that was cut off is answered with %q, want nothing", got)
	}
	g.waiters(0)
}

func TestServeAfterClose(t *testing.T) {
	g := start(t)
	g.Close()
	ln, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Serve(ln); err != nil {
		t.Errorf("serve after close = %v, want nil at once", err)
	}
	if _, err := ln.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the listener's error = %v, want %v", err, net.ErrClosed)
	}
}

// A connection that was accepted just before the end.
func TestConnectAtShutdown(t *testing.T) {
	g := start(t)
	g.Close()
	ours, theirs := net.Pipe()
	go g.serve(theirs)
	w := &wire{ours, t, bufio.NewReader(ours)}
	if got := w.rest(); !strings.HasPrefix(got, "-DRAINING ") {
		t.Errorf("connecting while shutting down = %q, want DRAINING", got)
	}
}

// failing is a listener whose accept fails first.
type failing struct {
	net.Listener
	errs []error
}

func (f *failing) Accept() (net.Conn, error) {
	if len(f.errs) == 0 {
		return f.Listener.Accept()
	}
	err := f.errs[0]
	f.errs = f.errs[1:]
	return nil, err
}

func TestAcceptErrors(t *testing.T) {
	listen := func(errs ...error) (net.Listener, string) {
		path := filepath.Join(t.TempDir(), "s")
		ln, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		return &failing{ln, errs}, path
	}
	g := start(t)
	ln, path := listen(fmt.Errorf("accept: %w", syscall.EMFILE), syscall.ECONNABORTED, syscall.ENOSPC)
	served := make(chan error, 1)
	go func() { served <- g.Serve(ln) }()
	(&gateway{t: t, path: path}).dial().want("PONG", "PING")
	g.Close()
	if err := <-served; err != nil {
		t.Errorf("serve = %v, want nil after close", err)
	}
	g = start(t)
	ln, _ = listen(syscall.EBADF)
	if err := g.Serve(ln); !errors.Is(err, syscall.EBADF) {
		t.Errorf("serve = %v, want %v", err, syscall.EBADF)
	}
}
