package serve

import (
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/cmd/lockgw/config"
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
