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

// A configuration file that is not there at the moment, as while it is replaced, takes no rule away.
func TestReloadWithoutTheFile(t *testing.T) {
	rules := []access.Rule{{Who: []string{"user:4321"}, May: []string{"lock"}, Locks: []string{"a"}}}
	s := config.Settings{Config: config.Default(), File: "f.yaml", Admission: access.Config{Rules: rules}}
	control, err := access.New(access.Config{})
	if err != nil {
		t.Fatal(err)
	}
	r := &reloader{
		load: func() (config.Settings, error) { return s, nil }, service: &serviceManager{},
		access: control, level: new(slog.LevelVar), log: slog.New(slog.DiscardHandler),
	}
	if _, err := r.reload(); err != nil { // there was none before
		t.Fatal(err)
	}
	s.File, s.Admission = "", access.Config{}
	if _, err := r.reload(); err == nil || !strings.Contains(err.Error(), "f.yaml is not there any more") {
		t.Errorf("reload without the file: %v, want an error", err)
	}
	if control.Sees(access.Caller{}, access.Lock, "b") {
		t.Error("the rule of the file is not in force any more")
	}
}

// Nor does one that is empty, or has not been written beyond its first lines, because its disk is
// full: without rules everybody may lock everything. Who means that writes an empty list.
func TestReloadWithoutRules(t *testing.T) {
	rules := []access.Rule{{Who: []string{"user:4321"}, May: []string{"lock"}, Locks: []string{"a"}}}
	control, err := access.New(access.Config{Rules: rules})
	if err != nil {
		t.Fatal(err)
	}
	s := config.Settings{Config: config.Default(), File: "f.yaml", Origins: map[string]string{"access.rules": "default"}}
	r := &reloader{
		load: func() (config.Settings, error) { return s, nil }, service: &serviceManager{},
		access: control, level: new(slog.LevelVar), log: slog.New(slog.DiscardHandler), file: "f.yaml", ruled: true,
	}
	if _, err := r.reload(); err == nil || !strings.Contains(err.Error(), "access.rules is set nowhere any more") {
		t.Errorf("reload without rules: %v, want an error", err)
	}
	if control.Sees(access.Caller{}, access.Lock, "b") {
		t.Error("the rules of the file are not in force any more")
	}
	s.Origins["access.rules"] = "f.yaml:1"
	for range 2 { // there are none from then on
		if _, err := r.reload(); err != nil || !control.Sees(access.Caller{}, access.Lock, "b") {
			t.Errorf("an empty list: %v, want everybody allowed", err)
		}
		s.Origins["access.rules"] = "default"
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
