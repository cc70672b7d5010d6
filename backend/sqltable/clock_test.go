package sqltable

import (
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
)

// A clock that was put back is no restart, and whoever reads why nothing is granted can do something
// about it.
func TestClockPutBackIsTold(t *testing.T) {
	for name, back := range map[string]time.Duration{"more than a lease": time.Hour, "less": lease / 2} {
		t.Run(name, func(t *testing.T) {
			d := &database{Seen: Seen{ID: "a", Server: "s", Same: true, Used: true}}
			r := runs(t, d)
			d.Left = back
			if err := r.Decide(t.Context(), d.ask); !backend.Quarantined(err) || !strings.Contains(err.Error(), "the clock of SQL, by which leases end, was put back") {
				t.Errorf("its clock was put back: %v", err)
			}
			other := runs(t) // who was not there cannot know
			if err := other.Decide(t.Context(), d.ask); !backend.Quarantined(err) || !strings.Contains(err.Error(), "or its clock was put back") {
				t.Errorf("another gateway: %v", err)
			}
			d.ID, d.Same = "b", false
			if err := r.Decide(t.Context(), d.ask); !backend.Quarantined(err) || !strings.Contains(err.Error(), "was restarted, failed over or restored") {
				t.Errorf("it was restarted after that: %v", err)
			}
			d.Left = 0
			if err := r.Decide(t.Context(), d.ask); err != nil {
				t.Fatal(err)
			}
			d.ID, d.Same = "c", false
			if err := r.Decide(t.Context(), d.ask); !backend.Quarantined(err) || !strings.Contains(err.Error(), "was restarted, failed over or restored") {
				t.Errorf("it was restarted later: %v", err)
			}
		})
	}
}

// Neither does a gateway that starts after that wait for as long as the clock was put back, if the
// process before it has seen the run trusted.
func TestClockPutBackBeforeStart(t *testing.T) {
	file := filepath.Join(t.TempDir(), "runs")
	start := func() *Runs {
		return NewRuns(RunsConfig{Product: "SQL", Guarded: true, Lease: lease, File: file, Log: slog.New(slog.DiscardHandler), Moved: func() {}})
	}
	d := &database{Seen: Seen{ID: "a", Server: "s", Used: true}} // of another server
	if err := start().Decide(t.Context(), d.ask); !backend.Quarantined(err) {
		t.Fatal(err)
	}
	d.Left = time.Hour // by the word of another gateway
	if err := start().Decide(t.Context(), d.ask); !backend.Quarantined(err) || d.Left != time.Hour {
		t.Errorf("in a long quarantine: %v, which lasts for another %v", err, d.Left)
	}
	d.Left = 0
	if err := start().Decide(t.Context(), d.ask); err != nil {
		t.Fatal(err)
	}
	d.Left = time.Hour
	if err := start().Decide(t.Context(), d.ask); !backend.Quarantined(err) || d.Left != lease {
		t.Errorf("its clock was put back: %v, which lasts for another %v, want %v", err, d.Left, lease)
	}
}
