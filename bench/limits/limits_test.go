package limits

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/bench/rig"
)

// TestMain lets this binary be the attackers that a run starts.
func TestMain(m *testing.M) {
	if len(os.Args) == 5 && os.Args[1] == "attack" {
		if err := Attack(os.Args[2], os.Args[3], os.Args[4]); err != nil {
			panic(err)
		}
		return
	}
	os.Exit(m.Run())
}

// A small run of all limits: nothing is lost, and each target is measured.
func TestLimits(t *testing.T) {
	p := rig.Plan{
		Slice: 10 * time.Millisecond, Rounds: 1, Holds: 50, Waits: 50, Watch: 50 * time.Millisecond,
		Rest: 100 * time.Millisecond, Starts: 1, Many: 200, Crowds: 60, Names: 600, Settle: 10 * time.Millisecond,
	}
	var out strings.Builder
	if err := Measure(t.Context(), &out, "true", p); err != nil {
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
	r, err := rig.Open(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	g, err := r.Another(t.Context(), "memory://")
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
	if _, err := h.keeper.Reply("UNLOCK", keptName); err != nil { // as if it was lost
		t.Fatal(err)
	}
	if _, err := h.measure(time.Millisecond); err == nil || !strings.Contains(err.Error(), "lost") {
		t.Errorf("err = %v, want that the lock is lost", err)
	}
}

func TestParts(t *testing.T) {
	var p Part
	for _, s := range []string{"true", "rest", "attacks"} {
		if err := p.Set(s); err != nil || string(p) != s {
			t.Errorf("Set(%q) = %v, part %q", s, err, p)
		}
	}
	if err := p.Set("everything"); err == nil || !strings.Contains(err.Error(), "rest") {
		t.Errorf("err = %v, want the names of the parts", err)
	}
}
