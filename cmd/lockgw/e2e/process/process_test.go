package process

import (
	"context"
	"errors"
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
