package redis

import (
	"log/slog"
	"testing"
	"time"
)

// Requests that meet a new server at the same time trust it one after the other. Each
// request tells Redis all servers that are known, so each has to be among them once.
func TestGuardTrustsOnce(t *testing.T) {
	g := newGuard(GuardQuarantine, time.Second, "", slog.New(slog.DiscardHandler))
	for range 2 * rememberServers {
		g.trust("b")
	}
	g.trust("a")
	if got := g.words.Load().first; got != " b a" {
		t.Errorf("scripts are told %q, want each server once", got)
	}
}
