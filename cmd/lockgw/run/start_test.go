package run

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

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/cmd/lockgw/e2e"
	"github.com/lockgw/lockgw/session"
)

func testGuardian(t *testing.T) *guardian {
	t.Helper()
	k, err := startGuardian()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.Close)
	return k
}

// A guardian that was stopped for a while must not start a command whose locks are
// another's by now.
func TestGuardianStartsNothingLate(t *testing.T) {
	ran := filepath.Join(t.TempDir(), "ran")
	_, err := testGuardian(t).start(startOrder{Path: "/usr/bin/touch", Argv: []string{"touch", ran}, Deadline: session.Boottime()})
	if got, message := cli.ExitCode(err); got != cli.ExitLost || !strings.Contains(message, "not run") {
		t.Errorf("started at its deadline: exit code %d %q, want %d", got, message, cli.ExitLost)
	}
	if cli.Exists(ran) {
		t.Error("the command was run")
	}
}

// What ends a run, or is meant for all of lockgw, does not end its guardian.
func TestGuardianOutlivesSignals(t *testing.T) {
	k := testGuardian(t)
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
		t.Error("the guardian has ended")
	case <-time.After(200 * time.Millisecond):
	}
}

// The end of the guardian is seen where the start is waited for.
func TestGuardianGone(t *testing.T) {
	k := testGuardian(t)
	if err := k.p.Kill(); err != nil {
		t.Fatal(err)
	}
	<-k.done
	_, err := k.start(startOrder{Path: "/bin/true", Argv: []string{"true"}})
	if got, message := cli.ExitCode(err); got != cli.ExitFailed || !strings.Contains(message, "guardian") {
		t.Errorf("started by a guardian that is gone: exit code %d %q, want %d", got, message, cli.ExitFailed)
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
		{503, `{"code":"draining"}`, false, cli.ExitUnavailable},
		{429, `{"code":"too_many_sessions"}`, false, cli.ExitNotAcquired},
		{403, `{"code":"forbidden"}`, false, cli.ExitFailed},
		{201, `nonsense`, false, cli.ExitUnavailable},
	} {
		dir := e2e.ShortDir(t)
		ln, err := net.Listen("unix", filepath.Join(dir, cli.HTTPSocket))
		if err != nil {
			t.Fatal(err)
		}
		srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(tt.status)
			_, _ = io.WriteString(w, tt.body)
		})}
		var wg sync.WaitGroup
		wg.Go(func() { _ = srv.Serve(ln) })
		token, err := openBound(t.Context(), filepath.Join(dir, cli.RespSocket), 1)
		if code, _ := cli.ExitCode(err); code != tt.code || (token != "") != tt.bound {
			t.Errorf("%d %s: token %q, %v with exit code %d; want exit code %d", tt.status, tt.body, token, err, code, tt.code)
		}
		srv.Close()
		wg.Wait()
	}
}
