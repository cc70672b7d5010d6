package main

import (
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/lockgw/lockgw/session"
)

func testKeeper(t *testing.T) *keeper {
	t.Helper()
	k, err := startKeeper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.Close)
	return k
}

// A keeper that was stopped for a while must not start a command whose locks are
// another's by now.
func TestKeeperStartsNothingLate(t *testing.T) {
	ran := filepath.Join(t.TempDir(), "ran")
	_, err := testKeeper(t).start(startOrder{Path: "/usr/bin/touch", Argv: []string{"touch", ran}, Deadline: session.Boottime()})
	if got, message := exitCode(err); got != exitLost || !strings.Contains(message, "not run") {
		t.Errorf("started at its deadline: exit code %d %q, want %d", got, message, exitLost)
	}
	if exists(ran) {
		t.Error("the command was run")
	}
}

// What ends a run, or is meant for all of lockgw, does not end its keeper.
func TestKeeperOutlivesSignals(t *testing.T) {
	k := testKeeper(t)
	p, err := k.start(startOrder{Path: "/bin/sleep", Argv: []string{"sleep", "60"}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { <-p.done }()
	defer p.signal(syscall.SIGKILL)
	for _, s := range endSignals {
		if err := k.p.Signal(s); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case <-k.done:
		t.Error("the keeper has ended")
	case <-time.After(200 * time.Millisecond):
	}
}

// The end of the keeper is seen where the start is waited for.
func TestKeeperGone(t *testing.T) {
	k := testKeeper(t)
	if err := k.p.Kill(); err != nil {
		t.Fatal(err)
	}
	<-k.done
	_, err := k.start(startOrder{Path: "/bin/true", Argv: []string{"true"}})
	if got, message := exitCode(err); got != exitFailed || !strings.Contains(message, "keeper") {
		t.Errorf("started by a keeper that is gone: exit code %d %q, want %d", got, message, exitFailed)
	}
}

func TestOpenBoundRefusals(t *testing.T) {
	for _, tt := range []struct {
		status int
		body   string
		bound  bool
		code   int
	}{
		{201, `{"token":"t"}`, true, 0},
		{400, `{"code":"invalid","detail":"another pid namespace"}`, false, 0},
		{501, `{"code":"unsupported"}`, false, 0},
		{503, `{"code":"draining"}`, false, exitUnavailable},
		{429, `{"code":"too_many_sessions"}`, false, exitNotAcquired},
		{403, `{"code":"forbidden"}`, false, exitFailed},
		{201, `nonsense`, false, exitUnavailable},
	} {
		dir := shortDir(t)
		ln, err := net.Listen("unix", filepath.Join(dir, httpSocket))
		if err != nil {
			t.Fatal(err)
		}
		srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(tt.status)
			_, _ = io.WriteString(w, tt.body)
		})}
		var wg sync.WaitGroup
		wg.Go(func() { _ = srv.Serve(ln) })
		token, err := openBound(t.Context(), filepath.Join(dir, respSocket), 1)
		if code, _ := exitCode(err); code != tt.code || (token != "") != tt.bound {
			t.Errorf("%d %s: token %q, %v with exit code %d; want exit code %d", tt.status, tt.body, token, err, code, tt.code)
		}
		srv.Close()
		wg.Wait()
	}
}
