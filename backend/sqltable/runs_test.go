package sqltable

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/selftest"
)

const lease = time.Minute

// database tells what it is told to tell, and does what is to be done as a real one does.
type database struct {
	Seen
	changes []Change
}

func (d *database) ask(_ context.Context, judge func(Seen) Change) error {
	c := judge(d.Seen)
	if c.Kind == Keep {
		return nil
	}
	d.changes = append(d.changes, c)
	if c.Kind == Anew {
		d.ID, d.Same, d.Used = d.ID+"+", true, true
	}
	d.Fresh, d.Left = c.Fresh, c.Wait
	return nil
}

func runs(t *testing.T, known ...*database) *Runs {
	t.Helper()
	r := NewRuns(RunsConfig{Product: "SQL", Setting: "guard", Guarded: true, Lease: lease, Log: slog.New(slog.DiscardHandler), Moved: func() {}})
	for _, d := range known {
		if err := r.Decide(t.Context(), d.ask); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func TestDecide(t *testing.T) {
	trusted := func() *database { return &database{Seen: Seen{ID: "a", Server: "s", Same: true, Used: true, Far: 9}} }
	for name, tt := range map[string]struct {
		knows bool // of trusted
		is    Seen
		want  []Change
	}{
		"nobody was ever here":             {false, Seen{Server: "s"}, []Change{{Kind: Anew, Fresh: true}}},
		"empty, and it was not":            {true, Seen{Server: "s"}, []Change{{Kind: Anew, Wait: lease}}},
		"the run is known":                 {true, Seen{ID: "a", Server: "s", Same: true, Used: true, Far: 9}, nil},
		"the run is known, and went back":  {true, Seen{ID: "a", Server: "s", Same: true, Used: true, Far: 8}, []Change{{Kind: Anew, Wait: lease}}},
		"another gateway trusts it":        {false, Seen{ID: "b", Server: "s", Same: true, Used: true}, nil},
		"another gateway took it for new":  {true, Seen{ID: "b", Server: "s", Same: true, Used: true, Fresh: true}, []Change{{Kind: Doubt, Wait: lease}}},
		"that run is over":                 {true, Seen{ID: "a", Server: "t", Used: true}, []Change{{Kind: Anew, Wait: lease}}},
		"that run is over, for newcomers":  {false, Seen{ID: "a", Server: "t", Used: true}, []Change{{Kind: Anew, Wait: lease}}},
		"new, and so is the only gateway":  {false, Seen{ID: "b", Server: "s", Same: true, Used: true, Fresh: true}, nil},
		"its clock was put back":           {true, Seen{ID: "a", Server: "s", Same: true, Used: true, Far: 9, Left: time.Hour}, []Change{{Kind: Anew, Wait: lease}}},
		"the same, and nobody was here":    {false, Seen{ID: "b", Server: "s", Same: true, Used: true, Fresh: true, Left: time.Hour}, []Change{{Kind: Anew, Wait: lease}}},
		"its clock was put back a little":  {true, Seen{ID: "a", Server: "s", Same: true, Used: true, Far: 9, Left: time.Second}, nil},
		"in a long quarantine of another":  {false, Seen{ID: "b", Server: "s", Same: true, Used: true, Left: time.Hour}, nil},
		"in quarantine, by another's word": {true, Seen{ID: "b", Server: "s", Same: true, Used: true, Left: time.Second}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := runs(t)
			if tt.knows {
				r = runs(t, trusted())
			}
			d := &database{Seen: tt.is}
			err := r.Decide(t.Context(), d.ask)
			if len(d.changes) != len(tt.want) || len(tt.want) > 0 && d.changes[0] != tt.want[0] {
				t.Errorf("changes = %+v, want %+v", d.changes, tt.want)
			}
			waits := d.Left > 0
			if backend.Quarantined(err) != waits || (r.Refusing() != "") != waits || err != nil && !waits {
				t.Errorf("err = %v, refusing %q, want a quarantine: %v", err, r.Refusing(), waits)
			}
			if is, want := r.Present(), (Run{d.ID, d.Server}); is != want {
				t.Errorf("the present run is %+v, want %+v", is, want)
			}
		})
	}
}

// A server that was left for another one has not heard of what that one has granted, though it has run
// all the time and has forgotten nothing. Nor does the next process of the gateway trust it at once.
func TestServerThatWasLeft(t *testing.T) {
	for _, restarted := range []bool{false, true} {
		file := filepath.Join(t.TempDir(), "runs")
		start := func() *Runs {
			return NewRuns(RunsConfig{Product: "SQL", Guarded: true, Lease: lease, File: file, Log: slog.New(slog.DiscardHandler), Moved: func() {}})
		}
		r := start()
		first := &database{Seen: Seen{ID: "a", Server: "s", Same: true, Used: true, Far: 9}}
		other := &database{Seen: Seen{ID: "b", Server: "t", Same: true, Used: true, Far: 5}}
		for _, d := range []*database{first, other} {
			if err := r.Decide(t.Context(), d.ask); err != nil {
				t.Fatal(err)
			}
		}
		if restarted {
			r = start()
		}
		if err := r.Decide(t.Context(), first.ask); !backend.Quarantined(err) || first.ID == "a" {
			t.Errorf("restarted %v: back at the first one: %v, run %q", restarted, err, first.ID)
		}
		first.Left = 0
		if err := r.Decide(t.Context(), first.ask); err != nil {
			t.Errorf("restarted %v: after that: %v", restarted, err)
		}
		stayed := runs(t, &database{Seen: Seen{ID: "a", Server: "s", Same: true, Used: true}})
		first.Left = time.Second
		if err := stayed.Decide(t.Context(), first.ask); !backend.Quarantined(err) || len(first.changes) != 1 {
			t.Errorf("restarted %v: a gateway that has stayed: %v, %d changes", restarted, err, len(first.changes))
		}
	}
}

// A database that is put back to an earlier state between two processes of the gateway is not trusted by
// the second; unless it has forgotten by itself, for the gateway was away for days.
func TestPutBackWhileAway(t *testing.T) {
	for away, quarantined := range map[time.Duration]bool{time.Minute: true, 2 * farFor: false} {
		file := filepath.Join(t.TempDir(), "runs")
		start := func() *Runs {
			return NewRuns(RunsConfig{Product: "SQL", Guarded: true, Lease: lease, File: file, Log: slog.New(slog.DiscardHandler), Moved: func() {}})
		}
		d := &database{Seen: Seen{ID: "a", Server: "s", Same: true, Used: true, Far: 9}}
		for range 2 { // one that stays is trusted
			r := start()
			if err := r.Decide(t.Context(), d.ask); err != nil {
				t.Fatal(err)
			}
			d.Far = 12
			r.Reached(d.Far)
			r.Close()
		}
		if err := os.Chtimes(file, time.Time{}, time.Now().Add(-away)); err != nil {
			t.Fatal(err)
		}
		d.Far = 11
		if err := start().Decide(t.Context(), d.ask); backend.Quarantined(err) != quarantined {
			t.Errorf("after %v: %v, want a quarantine: %v", away, err, quarantined)
		}
	}
}

// The words are kept and repeated to many, so that they must not tell what changes.
func TestQuarantineTellsItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := runs(t)
		d := &database{Seen: Seen{ID: "a", Server: "s", Used: true}}
		begin := time.Now()
		first := r.Decide(t.Context(), d.ask)
		time.Sleep(20 * time.Second)
		end := begin.Add(lease).UTC().Format(time.RFC3339)
		if !backend.Quarantined(first) || !strings.Contains(first.Error(), end) || r.Refusing() != selftest.Reason(first) {
			t.Errorf("first %v, 20s later %q, want the same, with the end %s", first, r.Refusing(), end)
		}
	})
}

// What a process has known, the next one knows; and where one cannot ask, nobody may grant.
func TestRunsAreRemembered(t *testing.T) {
	d := &database{Seen: Seen{Server: "s"}}
	file := filepath.Join(t.TempDir(), "runs")
	for n, want := range []int{1, 0} {
		moved := 0
		r := NewRuns(RunsConfig{Product: "SQL", Guarded: true, Lease: lease, File: file, Log: slog.New(slog.DiscardHandler), Moved: func() { moved++ }})
		d.changes = nil
		if err := r.Decide(t.Context(), d.ask); err != nil || len(d.changes) != want {
			t.Errorf("process %d: %v, %d changes, want %d", n+1, err, len(d.changes), want)
		}
		d.Server = "t" // that has the same
		if err := r.Decide(t.Context(), d.ask); err != nil || moved != 1 {
			t.Errorf("process %d: %v, moved %d times, want once", n+1, err, moved)
		}
		d.Server = "s"
		err := r.Decide(t.Context(), func(context.Context, func(Seen) Change) error { return backend.ErrUnavailable })
		if !errors.Is(err, backend.ErrRefused) || errors.Is(err, backend.ErrUnavailable) {
			t.Errorf("process %d: not asked, and err = %v", n+1, err)
		}
	}
	empty := &database{Seen: Seen{Server: "s"}}
	r := NewRuns(RunsConfig{Product: "SQL", Guarded: true, Lease: lease, File: file, Log: slog.New(slog.DiscardHandler), Moved: func() {}})
	if err := r.Decide(t.Context(), empty.ask); !backend.Quarantined(err) {
		t.Errorf("an empty database in the place of one that was known: %v", err)
	}
}

// Who asks while another one does, and the database is silent, waits no longer than its own time.
func TestDecideHasAnEnd(t *testing.T) {
	r := runs(t)
	silent, answers := make(chan struct{}), make(chan struct{})
	first := make(chan error, 1)
	go func() {
		first <- r.Decide(t.Context(), func(context.Context, func(Seen) Change) error {
			close(silent)
			<-answers
			return backend.ErrUnavailable
		})
	}()
	<-silent
	over, cancel := context.WithCancel(t.Context())
	cancel()
	second := make(chan error, 1)
	go func() {
		second <- r.Decide(over, func(context.Context, func(Seen) Change) error { return nil })
	}()
	select {
	case err := <-second:
		if !errors.Is(err, backend.ErrRefused) || !errors.Is(err, backend.ErrUnreachable) {
			t.Errorf("err = %v, want %v", err, backend.ErrUnreachable)
		}
	case <-time.After(5 * time.Second):
		t.Error("it waits for the other one")
	}
	close(answers)
	<-first
}

// A database that does not answer is not there, also where the question is who it is: nothing
// was granted, and the breaker has to know.
func TestDecideWithoutAnAnswer(t *testing.T) {
	for _, tt := range []struct {
		err         error
		unreachable bool
	}{{backend.ErrUnavailable, true}, {backend.ErrUnreachable, true}, {backend.ErrRefused, false}} {
		err := runs(t).Decide(t.Context(), func(context.Context, func(Seen) Change) error { return tt.err })
		if !errors.Is(err, backend.ErrRefused) || errors.Is(err, backend.ErrUnreachable) != tt.unreachable {
			t.Errorf("where it says %v: %v", tt.err, err)
		}
	}
}
