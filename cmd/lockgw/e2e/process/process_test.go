package process

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func start(t *testing.T, script string) *Process {
	t.Helper()
	p, err := Start("server", exec.Command("sh", "-c", script), filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return p
}

func TestAwait(t *testing.T) {
	p := start(t, "echo up; exec sleep 600")
	ready := func(context.Context) error {
		if strings.Contains(p.Said(), "up") {
			return nil
		}
		return errors.New("not yet")
	}
	if err := p.Await(t.Context(), ready); err != nil {
		t.Errorf("await: %v", err)
	}
	never := func(context.Context) error { return errors.New("never") }
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := p.Await(ctx, never); err == nil || !strings.Contains(err.Error(), "not ready: never") || !strings.Contains(err.Error(), "up") {
		t.Errorf("a server that is never ready: %v, want why and what it has said", err)
	}
	if err := start(t, "echo sorry; exit 3").Await(t.Context(), never); err == nil || !strings.Contains(err.Error(), "sorry") {
		t.Errorf("a server that ends: %v, want what it has said", err)
	}
}

func TestStop(t *testing.T) {
	if err := start(t, "exec sleep 600").Stop(time.Minute); err != nil {
		t.Errorf("stop: %v", err)
	}
	deaf := start(t, `trap "" TERM; echo up; while :; do sleep 0.01; done`)
	for !strings.Contains(deaf.Said(), "up") {
		time.Sleep(time.Millisecond)
	}
	if err := deaf.Stop(10 * time.Millisecond); err == nil || !strings.Contains(err.Error(), "was killed") {
		t.Errorf("one that does not follow: %v, want that it was killed", err)
	}
	gone := start(t, "exit 0")
	<-gone.Done()
	if err := gone.Stop(time.Minute); err != nil {
		t.Errorf("one that is gone: %v", err)
	}
}

// A gateway serves once it says so itself, whoever answers at its socket before.
func TestServes(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	client := Over(socket, 0)
	if err := Serves(t.Context(), client); err == nil {
		t.Error("nobody listens, and it serves")
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	status := http.StatusServiceUnavailable
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" {
			t.Errorf("it asks for %s", r.URL.Path)
		}
		w.WriteHeader(status)
	}))
	s.Listener = l
	s.Start()
	t.Cleanup(s.Close)
	if err := Serves(t.Context(), client); err == nil || !strings.Contains(err.Error(), "503") {
		t.Errorf("err = %v, want that it is not ready", err)
	}
	status = http.StatusOK
	if err := Serves(t.Context(), client); err != nil {
		t.Errorf("err = %v, and it is ready", err)
	}
}
