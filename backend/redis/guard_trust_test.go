package redis

import (
	"log/slog"
	"testing"
	"time"
)

// Requests that meet a new server at the same time trust it one after the other. Each
// is among those that are trusted once.
func TestGuardTrustsOnce(t *testing.T) {
	g := newGuard(GuardQuarantine, time.Second, "", slog.New(slog.DiscardHandler))
	for range 2 * rememberServers {
		g.trust("b")
	}
	g.trust("a")
	if got := g.ids(); got != "b a" {
		t.Errorf("trusted are %q, want each server once", got)
	}
}
