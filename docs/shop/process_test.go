package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func never(context.Context) error { return errors.New("not yet") }

func TestStartShowsWhatAServerSaid(t *testing.T) {
	_, err := start(t.Context(), t.TempDir(), "broken", never, "sh", "-c", "echo no port left >&2; exit 1")
	if err == nil || !strings.Contains(err.Error(), "ended before it was ready") || !strings.Contains(err.Error(), "no port left") {
		t.Errorf("err = %v, want that the server has ended, and what it wrote", err)
	}
}

func TestStartStopsAServerThatIsNeverReady(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	ready := func(context.Context) error {
		if text, _ := os.ReadFile(filepath.Join(dir, "pid")); len(text) > 0 {
			cancel()
		}
		return errors.New("not yet")
	}
	_, err := start(ctx, dir, "slow", ready, "sh", "-c", `echo $$ > "$0"; exec sleep 60`, filepath.Join(dir, "pid"))
	if err == nil || !strings.Contains(err.Error(), "not ready") {
		t.Errorf("err = %v, want that the server is not ready", err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("/proc/" + strings.TrimSpace(string(text))); err == nil {
		t.Error("the server still runs, want it stopped")
	}
}

// A mall that cannot be opened leaves no process and no directory.
func TestOpenMallCleansUp(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	if _, err := openMall(t.Context(), 1, "/nowhere/lockgw"); !errors.Is(err, syscall.ENOENT) {
		t.Errorf("err = %v, want that there is no such program", err)
	}
	left, err := os.ReadDir(os.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if len(left) != 0 {
		t.Errorf("%v was left behind, want nothing", left)
	}
}

type brokenLock struct{}

var errBroken = errors.New("broken")

func (brokenLock) enter(context.Context) (uint64, error) { return 0, errBroken }
func (brokenLock) leave(context.Context) error           { return nil }

// A caller that cannot lock ends the round, and the round says why.
func TestSellEndsWithABrokenLock(t *testing.T) {
	m := open(t, 0)
	if _, err := m.sell(t.Context(), 200_000, append(mutexes(3, 1), brokenLock{})); !errors.Is(err, errBroken) {
		t.Errorf("err = %v, want %v", err, errBroken)
	}
	if left, err := m.redis.Get(t.Context(), stockKey).Int(); err != nil || left <= 0 {
		t.Errorf("left = %d, %v; want the others to have stopped before the shelf was empty", left, err)
	}
}
