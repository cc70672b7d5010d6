package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/bench/callers"
	"github.com/lockgw/lockgw/bench/figures"
	"github.com/lockgw/lockgw/bench/rig"
)

// TestMain lets this binary be the servers that a run starts.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-") {
		if err := play(os.Args[1:]); err != nil {
			panic(err)
		}
		return
	}
	os.Exit(m.Run())
}

// A small run of everything: each row has figures, and each target is measured.
func TestRun(t *testing.T) {
	p := rig.Plan{
		Callers: []int{1, 32}, Slice: 10 * time.Millisecond, Rounds: 2, Crowd: 20, Pass: 6,
		Holds: 30, Waits: 30, Watch: 50 * time.Millisecond, Peers: true,
	}
	var out strings.Builder
	if err := run(t.Context(), &out, p); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	for _, want := range []string{
		limitName, plainName, redislockName, callers.SocketName, turnsName, distantName, "redsync", "rueidislock, 3 keys", keptName,
		"lockgw HTTP, redis://", "locks held", "callers wait, HTTP",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no row %q", want)
		}
	}
	if got := strings.Count(text, "\nreached") + strings.Count(text, "\nMISSED"); got != len(targets) {
		t.Errorf("%d targets judged, want %d", got, len(targets))
	}
	if t.Failed() {
		t.Log(text)
	}
}

// What a pair asks of Redis is a fact that no busy machine can blur.
func TestCountsCommands(t *testing.T) {
	r, err := rig.Open(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := r.StartAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	var got figures.Table
	c := callers.Contest{Group: soloGroup, N: 1, Rounds: 2, Slice: 50 * time.Millisecond, Plain: plainName, All: pairs(r, rig.Plan{})}
	if err := c.Hold(t.Context(), r, &got); err != nil {
		t.Fatal(err)
	}
	one := got.Find(soloGroup, plainName, 1)
	if n := one.Work.Commands / one.Ops; n < 3.9 || n > 4.5 { // SET, EVALSHA, GET, DEL
		t.Errorf("%s: %.2f commands of Redis for a pair, want 4", plainName, n)
	}
	for _, name := range []string{memoryName, keptName} {
		one = got.Find(soloGroup, name, 1)
		if n := one.Work.Scripts / one.Ops; n > 0.1 {
			t.Errorf("%s: %.2f scripts for a pair, want none", one.Name, n)
		}
	}
}

func TestProfile(t *testing.T) {
	dir := t.TempDir()
	var out strings.Builder
	if err := profileTo(t.Context(), &out, dir, rig.Plan{Slice: 5 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(out.String(), "allocations"); got != 6 {
		t.Errorf("%d loads were profiled, want 6:\n%s", got, &out)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) != 12 {
		t.Errorf("profiles %v, err %v, want 12", files, err)
	}
}

func TestPlayRefuses(t *testing.T) {
	for _, args := range [][]string{{"serve"}, {"echo"}, {"delay", "a", "b"}, {"delay", "a", "b", "long"}, {"gateway", "a"}} {
		if err := play(args); err == nil {
			t.Errorf("play(%q) did not fail", args)
		}
	}
}
