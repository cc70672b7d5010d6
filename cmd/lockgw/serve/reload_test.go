package serve

import (
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lockgw/lockgw/cmd/lockgw/config"
	"github.com/lockgw/lockgw/cmd/lockgw/e2e"
	"github.com/lockgw/lockgw/session/access"
)

func TestReload(t *testing.T) {
	running := config.Settings{Config: config.Default()}
	next, loadErr := running, error(nil)
	var out strings.Builder
	level := new(slog.LevelVar)
	r := &reloader{
		load: func() (config.Settings, error) { return next, loadErr }, running: running, service: &serviceManager{},
		access: access.Open(), level: level, log: newLog(&out, false, config.Log{}, level),
	}

	next.Log.Level, next.Lock.TTL, next.Warnings = "debug", time.Minute, []string{"a warning"}
	if restart, err := r.reload(); err != nil || !slices.Equal(restart, []string{"lock.ttl"}) {
		t.Errorf("reload = %q, %v; want lock.ttl to need a restart", restart, err)
	}
	if level.Level() != slog.LevelDebug {
		t.Errorf("level = %v, want debug", level.Level())
	}
	for _, want := range []string{`"needs_restart":["lock.ttl"]`, "a warning"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("log = %q, want %q in it", out.String(), want)
		}
	}

	out.Reset()
	next.Log.Level, loadErr = "error", errors.New("it is wrong")
	r.signalled()
	if level.Level() != slog.LevelDebug {
		t.Errorf("level after a bad reload = %v, want it unchanged", level.Level())
	}
	if !strings.Contains(out.String(), "it is wrong") {
		t.Errorf("log = %q, want the error", out.String())
	}
}

// A reload that hangs, as on a file system that does not answer, keeps no gateway from stopping.
func TestStopDuringAReload(t *testing.T) {
	tokens := filepath.Join(t.TempDir(), "tokens")
	if err := unix.Mkfifo(tokens, 0o600); err != nil {
		t.Fatal(err)
	}
	go func() { _ = os.WriteFile(tokens, []byte("ci a-token-of-16-signs"), 0) }() // of a FIFO that waits for who reads it
	d := startDrained(t, "--access-tokens-file", tokens)
	if err := d.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	w, err := os.OpenFile(tokens, os.O_WRONLY, 0) // waits until the reload has opened it
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close() // until then the reload waits for more
	if _, err := io.WriteString(w, "ci "); err != nil {
		t.Fatal(err)
	}
	d.signal()
	late := time.AfterFunc(20*time.Second, func() {
		t.Error("it waits for the reload")
		_ = d.cmd.Process.Kill()
	})
	e2e.WantExit(t, d.cmd, 0)
	late.Stop()
}
