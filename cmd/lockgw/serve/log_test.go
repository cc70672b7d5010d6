package serve

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/cmd/lockgw/config"
)

// Outside of a terminal the log is JSON, and a changed level counts at once.
func TestLog(t *testing.T) {
	var out strings.Builder
	level := new(slog.LevelVar)
	log := newLog(&out, false, config.Log{Format: "auto"}, level)
	log.Debug("unseen")
	level.Set(config.Log{Level: "debug"}.SlogLevel())
	log.Debug("seen")
	if got := out.String(); !strings.Contains(got, `"msg":"seen"`) || strings.Contains(got, "unseen") {
		t.Errorf("log = %q, want JSON with the second message alone", got)
	}
	out.Reset()
	log.Info("later", "after", 90*time.Second)
	if got := out.String(); !strings.Contains(got, `"after":"1m30s"`) {
		t.Errorf("log = %q, want a duration that can be read", got)
	}
	out.Reset()
	newLog(&out, false, config.Log{Format: "text"}, level).Info("hello", "key", 1)
	if got := out.String(); !strings.Contains(got, "INF hello key=1\n") {
		t.Errorf("log = %q, want plain text without colours", got)
	}
	for term, colours := range map[string]bool{"xterm": true, "dumb": false} {
		t.Setenv("NO_COLOR", "")
		t.Setenv("TERM", term)
		out.Reset()
		newLog(&out, true, config.Log{Format: "auto"}, level).Info("hello")
		if got := out.String(); strings.Contains(got, "\x1b") != colours || !strings.Contains(got, "hello") {
			t.Errorf("on a terminal %s the log is %q, want colours: %v", term, got, colours)
		}
	}
}
