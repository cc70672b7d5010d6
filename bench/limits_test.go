package main

import (
	"strings"
	"testing"
	"time"
)

// A small run of all limits: nothing is lost, and each target is measured.
func TestLimits(t *testing.T) {
	p := plan{
		slice: 10 * time.Millisecond, rounds: 1, holds: 50, waits: 50, watch: 50 * time.Millisecond,
		rest: 100 * time.Millisecond, starts: 1, many: 200, crowds: 60, names: 600, settle: 10 * time.Millisecond, lockgw: lockgw(t),
	}
	var out strings.Builder
	if err := measureLimits(t.Context(), &out, "true", p); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	text := out.String()
	want := []string{"names held, redis://", "sessions, memory://", "callers wait, socket and HTTP, redis://"}
	for _, o := range overdones {
		want = append(want, o.limit)
	}
	want = append(want, "redis://"+laterRow)
	for _, k := range attackers {
		want = append(want, k.name+", redis://")
	}
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("no row %q", w)
		}
	}
	judged := 0
	for _, all := range limitTargets {
		judged += len(all)
	}
	if got := strings.Count(text, "\nreached") + strings.Count(text, "\nMISSED"); got != judged {
		t.Errorf("%d targets judged, want %d", got, judged)
	}
	if t.Failed() {
		t.Log(text)
	}
}

// A caller that is refused, or has lost what it keeps, is an error of the measurement.
func TestHealthyCallerNotices(t *testing.T) {
	r, err := openRig(t.Context(), lockgw(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.close(); err != nil {
			t.Error(err)
		}
	})
	g, err := r.another(t.Context(), "memory://")
	if err != nil {
		t.Fatal(err)
	}
	h, err := newHealthy(g)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.close)
	if _, err := h.measure(time.Millisecond); err != nil {
		t.Errorf("nothing has happened: %v", err)
	}
	if _, err := h.keeper.reply("UNLOCK", keptName); err != nil { // as if it was lost
		t.Fatal(err)
	}
	if _, err := h.measure(time.Millisecond); err == nil || !strings.Contains(err.Error(), "lost") {
		t.Errorf("err = %v, want that the lock is lost", err)
	}
}

func TestParts(t *testing.T) {
	var p part
	for _, s := range []string{"true", "rest", "attacks"} {
		if err := p.Set(s); err != nil || string(p) != s {
			t.Errorf("Set(%q) = %v, part %q", s, err, p)
		}
	}
	if err := p.Set("everything"); err == nil || !strings.Contains(err.Error(), "rest") {
		t.Errorf("err = %v, want the names of the parts", err)
	}
}
