package history

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/session"
)

// A minute in which very many names were used once ends with a line for each. They are
// handed over in pieces, all of them, and no piece is larger than the others.
func TestManyLinesGoInPieces(t *testing.T) {
	lines, pieces := 0, 0
	var tr *tracker
	take := func() {
		text, n := tr.lines()
		if len(text) > pieceSize+4*lineSize || bytes.Count(text, []byte{'\n'}) != n {
			t.Fatalf("a piece of %d bytes with %d lines, of which %d are complete, want at most %d bytes", len(text), n, bytes.Count(text, []byte{'\n'}), pieceSize+4*lineSize)
		}
		lines += n
		pieces++
	}
	tr = newTracker(Config{Keep: time.Hour, MaxSize: 1 << 20}, take)
	now := time.Now()
	for i := range maxWindows {
		tr.windows["once"+strconv.Itoa(i)] = &counted{from: now, more: Totals{Attempts: 1}}
	}
	tr.roll(now.Add(window))
	take() // what is left
	if lines != maxWindows || pieces < 10 {
		t.Errorf("%d lines in %d pieces, want %d in many", lines, pieces, maxWindows)
	}
}

// The first window is as long as the others, whenever the first lines are written.
func TestFirstWindow(t *testing.T) {
	lines := 0
	tr := newTracker(Config{Keep: time.Hour, MaxSize: 1 << 20}, func() {})
	now := time.Now()
	tr.windows["busy"] = &counted{from: now, more: Totals{Attempts: 1}}
	for _, at := range []struct {
		after time.Duration
		lines int
	}{{time.Second, 0}, {window, 0}, {window + time.Second, 1}} {
		tr.tick(now.Add(at.after))
		_, n := tr.lines()
		if lines += n; lines != at.lines {
			t.Errorf("%d lines after %v, want %d", lines, at.after, at.lines)
		}
	}
}

// Who goes on for long gets a line, and another one when he has come to the lock and holds it for
// long: the last one is all that is known if the process dies.
func TestLinesOfWhatGoesOn(t *testing.T) {
	tr := newTracker(Config{Keep: time.Hour, MaxSize: 1 << 20}, func() {})
	begin := time.Now()
	job := session.Step{Kind: session.StepWaits, Lock: "x", Who: session.Holder{Owner: "o:1"}, Asked: begin}
	told := func(after time.Duration) (all []string) {
		t.Helper()
		tr.tick(begin.Add(after))
		text, _ := tr.lines()
		for text := range bytes.Lines(text) {
			var l line
			if err := json.Unmarshal(text, &l); err != nil {
				t.Fatal(err)
			}
			all = append(all, string(l.Outcome))
		}
		return all
	}
	tr.step(&job)
	for _, want := range []struct {
		after   time.Duration
		outcome []string
	}{{openAfter - 1, nil}, {openAfter, []string{"waiting"}}, {2 * openAfter, nil}} {
		if got := told(want.after); !slices.Equal(got, want.outcome) {
			t.Errorf("after %v of waiting it has lines that say %v, want %v", want.after, got, want.outcome)
		}
	}
	const granted = 10 * openAfter
	job.Kind, job.Who.Since, job.Fence = session.StepGranted, begin.Add(granted), 7
	tr.step(&job)
	job.Kind = session.StepResumed // it belongs to another process now
	tr.step(&job)
	for _, want := range []struct {
		after   time.Duration
		outcome []string
	}{{openAfter - 1, nil}, {openAfter, []string{"holding"}}, {2 * openAfter, nil}} {
		if got := told(granted + want.after); !slices.Equal(got, want.outcome) {
			t.Errorf("after %v of holding it has lines that say %v, want %v", want.after, got, want.outcome)
		}
	}
}

// A hold that a process before has granted at a time that is still to come, because the clock was
// set back since, keeps no line of others back, nor in memory that they are to have one.
func TestLineAfterTheClockWasSetBack(t *testing.T) {
	tr := newTracker(Config{Keep: time.Hour, MaxSize: 1 << 20}, func() {})
	now := time.Now()
	granted := now.Add(time.Hour).Round(0) // as the journal tells it
	tr.step(&session.Step{Kind: session.StepResumed, Lock: "old", Who: session.Holder{Owner: "o:1", Since: granted}, Fence: 7})
	tr.step(&session.Step{Kind: session.StepGranted, Lock: "nightly", Who: session.Holder{Owner: "n:1", Since: now}, Asked: now})
	tr.tick(now.Add(openAfter))
	text, _ := tr.lines()
	if got := bytes.Count(text, []byte(`"lock":"nightly"`)); got != 1 || len(tr.young) != 0 {
		t.Errorf("the one who has held for %v has %d lines, want 1; %d are to have one, want none", openAfter, got, len(tr.young))
	}
}

// Who goes on for long gets a line, whoever before him comes and goes all the time.
func TestLineBesideABusyCaller(t *testing.T) {
	tr := newTracker(Config{Keep: time.Hour, MaxSize: 1 << 20}, func() {})
	begin := time.Now()
	hold := func(lock, owner string, after time.Duration) *session.Step {
		at := begin.Add(after)
		return &session.Step{Kind: session.StepGranted, Lock: lock, Who: session.Holder{Owner: backend.Owner(owner), Since: at}, Asked: at}
	}
	tr.step(hold("busy", "b:1", 0))
	tr.step(hold("nightly", "n:1", 0))
	for i := range 100 {
		s := hold("busy", "b:1", time.Duration(i)*100*time.Millisecond)
		s.Kind, s.Time = session.StepReleased, s.Asked.Add(99*time.Millisecond)
		tr.step(s)
		tr.step(hold("busy", "b:1", time.Duration(i+1)*100*time.Millisecond))
		tr.tick(begin.Add(time.Duration(i+1) * 100 * time.Millisecond))
	}
	text, _ := tr.lines()
	if got := bytes.Count(text, []byte(`"lock":"nightly"`)); got != 1 {
		t.Errorf("the one who has held for 10s has %d lines, want 1", got)
	}
	if len(tr.young) > 30 {
		t.Errorf("%d attempts may get a line some time, want those of the last %v", len(tr.young), openAfter)
	}
}

// Where the last step of an attempt was dropped, the next attempt of its caller is another one, with
// times of its own; and a caller that is refused once more goes on waiting, or holding.
func TestDroppedSteps(t *testing.T) {
	begin := time.Now()
	step := func(kind session.StepKind, asked time.Duration) *session.Step {
		at := begin.Add(asked)
		return &session.Step{Kind: kind, Lock: "x", Who: session.Holder{Owner: "o:1", Since: at.Add(time.Second)}, Asked: at, Time: at.Add(2 * time.Second)}
	}
	const second = time.Minute
	for name, tt := range map[string]struct {
		first, then []session.StepKind
		outcome     Outcome // of what goes on; "": nothing
		asked       time.Duration
	}{
		"a release was dropped, and the next one waits":   {[]session.StepKind{session.StepGranted}, []session.StepKind{session.StepWaits}, Waiting, second},
		"a release was dropped, and the next one holds":   {[]session.StepKind{session.StepGranted}, []session.StepKind{session.StepGranted}, Holding, second},
		"a refusal was dropped, and the next one waits":   {[]session.StepKind{session.StepWaits}, []session.StepKind{session.StepWaits}, Waiting, second},
		"all was dropped but the first and the last step": {[]session.StepKind{session.StepGranted}, []session.StepKind{session.StepReleased}, "", 0},
		"a second request is refused while one waits":     {[]session.StepKind{session.StepWaits}, []session.StepKind{session.StepRefused}, Waiting, 0},
		"a second request is refused while one holds":     {[]session.StepKind{session.StepWaits, session.StepGranted}, []session.StepKind{session.StepRefused}, Holding, 0},
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTracker(Config{Keep: time.Hour, MaxSize: 1 << 20}, func() {})
			for _, k := range tt.first {
				tr.step(step(k, 0))
			}
			for _, k := range tt.then {
				tr.step(step(k, second))
			}
			open := tr.openNow()
			if tt.outcome == "" {
				if len(open) != 0 {
					t.Errorf("%+v goes on, want nothing", open)
				}
				return
			}
			if len(open) != 1 || open[0].Outcome != tt.outcome || !open[0].Asked.Equal(begin.Add(tt.asked)) {
				t.Errorf("what goes on is %+v, want one that is %s, asked after %v", open, tt.outcome, tt.asked)
			}
			tr.tick(begin.Add(2 * second))
			before := tr.n
			if tr.tick(begin.Add(2 * second)); before == 0 || tr.n != before {
				t.Errorf("%d lines, then %d, want each attempt once", before, tr.n)
			}
		})
	}
}
