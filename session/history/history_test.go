package history_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/session/history"
)

// Why was my job late? It asked, waited behind one of this node and one of another,
// held and gave back.
func TestWhyLate(t *testing.T) {
	h := open(t, history.Config{})
	began := time.Now().Add(-time.Hour)
	at := func(minutes int) time.Time { return began.Add(time.Duration(minutes) * time.Minute) }

	first := ask(h, "nightly", 1, at(0), nil)
	first.grant(at(0), 1)
	behind := first.who
	job := ask(h, "nightly", 2, at(1), &behind)
	first.step(session.StepReleased, at(10), "")
	there := session.Holder{Owner: "there:1", Node: "host-b", Peer: session.Peer{PID: 7, UID: 0, Command: "rsync"}, Since: at(10)}
	h.Record(session.Step{Kind: session.StepSeen, Time: at(11), Lock: "nightly", Who: there})
	job.grant(at(30), 9)
	job.step(session.StepReleased, at(35), "")

	r := look(t, h, history.Query{Lock: "nightly"})
	if len(r.Attempts) != 2 {
		t.Fatalf("%d attempts, want 2: %+v", len(r.Attempts), r.Attempts)
	}
	late := r.Attempts[0]
	if late.Waited(time.Now()) != 29*time.Minute || late.Held(time.Now()) != 5*time.Minute || late.Outcome != history.Released {
		t.Errorf("waited %v, held %v, %s; want 29m, 5m, released", late.Waited(time.Now()), late.Held(time.Now()), late.Outcome)
	}
	if late.Who.PID != 1002 || late.Who.Command != "sh" || late.Fence != 9 || late.Behind == nil || late.Behind.PID != 1001 {
		t.Errorf("who %+v, fence %d, behind %+v; want pid 1002 (sh), 9, pid 1001", late.Who, late.Fence, late.Behind)
	}
	if len(late.Meanwhile) != 2 {
		t.Fatalf("meanwhile %+v, want the process of this node and that of host-b", late.Meanwhile)
	}
	here, other := late.Meanwhile[0], late.Meanwhile[1]
	if here.Who.PID != 1001 || !here.Until.Equal(at(10).UTC().Truncate(time.Microsecond)) {
		t.Errorf("first %+v, want pid 1001 until %v", here, at(10))
	}
	if other.Who.Node != "host-b" || other.Who.PID != 7 || other.Until.Sub(other.From).Round(time.Second) != 20*time.Minute {
		t.Errorf("then %+v, want pid 7 of host-b for 20m", other)
	}
	if n := r.Totals; n.Attempts != 2 || n.Waited.Worst() != 29*time.Minute || n.Held.Worst() != 10*time.Minute {
		t.Errorf("totals %+v, want 2 attempts, 29m and 10m at worst", n)
	}
}

// A hold on another node is one, however many waiters here were told of it.
func TestSeenByMany(t *testing.T) {
	began := time.Now().Add(-time.Hour)
	at := func(minutes int) time.Time { return began.Add(time.Duration(minutes) * time.Minute) }
	for name, there := range map[string]session.Holder{
		"a caller of another gateway": {Owner: "there:1", Node: "host-b", Since: at(0)},
		"a program outside lockgw":    {Owner: "there:1"},
	} {
		t.Run(name, func(t *testing.T) {
			h := open(t, history.Config{})
			for m := 1; m < 5; m++ {
				ask(h, "x", m, at(m), &there).step(session.StepRefused, at(m+1), string(session.CodeWaitTimeout))
				h.Record(session.Step{Kind: session.StepSeen, Time: at(m), Lock: "x", Who: there})
			}
			last := ask(h, "x", 5, at(5), &there)
			last.grant(at(10), 9)
			last.step(session.StepReleased, at(11), "")
			again := there
			if !again.Since.IsZero() {
				again.Since = at(12)
			}
			h.Record(session.Step{Kind: session.StepSeen, Time: at(13), Lock: "x", Who: again})

			r := look(t, h, history.Query{Lock: "x"})
			first := short(at(1))
			if !there.Since.IsZero() {
				first = short(at(0))
			}
			if len(r.Seen) != 2 || !r.Seen[0].From.Equal(first) || !r.Seen[0].Until.Equal(short(at(10))) || !r.Seen[1].Until.IsZero() {
				t.Errorf("seen %+v, want a hold from %v to %v, and one that goes on", r.Seen, first, at(10))
			}
			for _, a := range r.Attempts {
				if len(a.Meanwhile) != 1 || a.Others != 0 {
					t.Errorf("pid %d waited behind %+v, want one hold", a.Who.PID, a.Meanwhile)
				}
			}
		})
	}
}

// short is t as it is kept.
func short(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// Each way in which an attempt can end is told as what it was.
func TestOutcomes(t *testing.T) {
	h := open(t, history.Config{})
	now := time.Now()
	want := []struct {
		kind    session.StepKind
		reason  string
		outcome history.Outcome
		told    string
	}{
		{session.StepReleased, "process 9 has exited", history.Released, "process 9 has exited"},
		{session.StepLost, "expired", history.Lost, "expired"},
		{session.StepLost, session.LossBroken, history.Broken, ""},
		{session.StepRefused, string(session.CodeLocked), history.Refused, "locked"},
		{session.StepRefused, session.ReasonHungUp, history.GaveUp, ""},
	}
	for i, w := range want {
		c := ask(h, "x", i, now.Add(-time.Minute+time.Duration(i)*time.Second), nil)
		if w.kind != session.StepRefused {
			c.grant(now.Add(-30*time.Second), backend.Fence(7+i))
		}
		c.step(w.kind, now, w.reason)
	}
	ask(h, "x", len(want), now, nil)
	r := look(t, h, history.Query{Lock: "x"})
	if len(r.Attempts) != len(want)+1 {
		t.Fatalf("%d attempts, want %d", len(r.Attempts), len(want)+1)
	}
	if last := r.Attempts[0]; last.Outcome != history.Waiting {
		t.Errorf("the newest is %s, want waiting", last.Outcome)
	}
	for i, w := range want {
		if a := r.Attempts[len(want)-i]; a.Outcome != w.outcome || a.Reason != w.told {
			t.Errorf("%d: %s %q, want %s %q", i, a.Outcome, a.Reason, w.outcome, w.told)
		}
	}
	if r.Totals.Refused != 2 || r.Totals.Lost != 2 {
		t.Errorf("totals %+v, want 2 refused, 2 lost", r.Totals)
	}
}

// `lockgw run` asks again when the longest wait of a request is over: for people it
// has waited since the first time.
func TestOneWaitOfSeveralRequests(t *testing.T) {
	h := open(t, history.Config{})
	began := time.Now().Add(-20 * time.Minute)
	for i := range 3 {
		c := ask(h, "x", 1, began.Add(time.Duration(i)*5*time.Minute), nil)
		c.step(session.StepRefused, began.Add(time.Duration(i+1)*5*time.Minute), string(session.CodeWaitTimeout))
	}
	c := ask(h, "x", 1, began.Add(15*time.Minute), nil)
	c.grant(began.Add(17*time.Minute), 5)
	c.step(session.StepReleased, began.Add(18*time.Minute), "")

	r := look(t, h, history.Query{Lock: "x"})
	if len(r.Attempts) != 1 || r.Attempts[0].Waited(time.Now()) != 17*time.Minute || r.Totals.Attempts != 1 || r.Totals.Refused != 0 {
		t.Errorf("attempts %+v, totals %+v; want one that waited for 17m", r.Attempts, r.Totals)
	}
	all, err := h.Contended(context.Background(), time.Time{}, 10, func(string) bool { return true })
	if err != nil || len(all) != 1 || all[0].Attempts != 1 || all[0].Waited.Worst() != 17*time.Minute {
		t.Errorf("contended %+v, %v; want one attempt of 17m", all, err)
	}
}

// What is not over outlives the process: a hold that goes on is one attempt, a wait
// that nobody goes on with has no known end.
func TestOverARestart(t *testing.T) {
	dir := t.TempDir()
	h := open(t, history.Config{Dir: dir})
	began := time.Now().Add(-time.Minute)
	holder := ask(h, "x", 1, began, nil)
	holder.grant(began.Add(10*time.Second), 5)
	ask(h, "x", 2, began.Add(20*time.Second), &holder.who)
	h.Close()

	h = open(t, history.Config{Dir: dir})
	holder.h, holder.asked = h, time.Time{}
	holder.step(session.StepResumed, time.Now(), "")
	r := look(t, h, history.Query{Lock: "x"})
	if len(r.Attempts) != 2 || r.Attempts[0].Outcome != history.Unknown || r.Attempts[1].Outcome != history.Holding {
		t.Fatalf("attempts %+v, want one with an unknown end, one that holds", r.Attempts)
	}
	holder.step(session.StepReleased, time.Now(), "")
	r = look(t, h, history.Query{Lock: "x"})
	last := r.Attempts[1]
	if len(r.Attempts) != 2 || last.Outcome != history.Released || last.Waited(time.Now()) != 10*time.Second {
		t.Errorf("%+v, want one released that has waited for 10s", last)
	}
}

// A hold that was cut off by the end of the gateway, as by that of its machine, was over when the
// next one began, here or on another node. Nobody waited behind it later.
func TestBehindOneThatWasCutOff(t *testing.T) {
	began := time.Now().Add(-time.Hour)
	at := func(minutes int) time.Time { return began.Add(time.Duration(minutes) * time.Minute) }
	there := session.Holder{Owner: "there:1", Node: "host-b", Peer: session.Peer{PID: 2000}, Since: at(10)}
	for name, next := range map[string]func(h *history.History){
		"here": func(h *history.History) {
			c := ask(h, "x", 1000, at(10), nil)
			c.grant(at(10), 2)
			c.step(session.StepReleased, at(20), "")
		},
		"on another node": func(h *history.History) {
			h.Record(session.Step{Kind: session.StepSeen, Time: at(11), Lock: "x", Who: there})
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			h := open(t, history.Config{Dir: dir})
			ask(h, "x", 1, at(0), nil).grant(at(0), 1)
			h.Close()
			h = open(t, history.Config{Dir: dir})
			late := ask(h, "x", 2, at(11), nil)
			next(h)
			late.grant(at(20), 3)
			late.step(session.StepReleased, at(21), "")

			r := look(t, h, history.Query{Lock: "x"})
			if dead := r.Attempts[len(r.Attempts)-1]; dead.Outcome != history.Unknown {
				t.Fatalf("the first is %s, want unknown", dead.Outcome)
			}
			if m := r.Attempts[0].Meanwhile; len(m) != 1 || m[0].Who.PID != 2000 {
				t.Errorf("it waited behind %+v, want pid 2000 alone", m)
			}
		})
	}
}

// Where the end of a hold was dropped, it is over all the same once another has the lock, and nobody
// waits behind it. Those who share a lock go on beside each other.
func TestEndThatWasDropped(t *testing.T) {
	began := time.Now().Add(-time.Hour)
	at := func(minutes int) time.Time { return began.Add(time.Duration(minutes) * time.Minute) }
	hold := func(h *history.History, n, minutes int, m backend.Mode, fence backend.Fence) {
		c := &caller{h: h, lock: "x", who: who(n), asked: at(minutes), mode: m}
		c.grant(at(minutes), fence)
	}
	for name, tt := range map[string]struct {
		first, then backend.Mode
		fence       backend.Fence // of the first; that of the other is 2
		over        bool
	}{
		"two who have it alone":         {backend.Exclusive, backend.Exclusive, 1, true},
		"one who shares it after one":   {backend.Exclusive, backend.Shared, 1, true},
		"one who has it alone after it": {backend.Shared, backend.Exclusive, 1, true},
		"two who share it":              {backend.Shared, backend.Shared, 1, false},
		"times of a clock that was set": {backend.Exclusive, backend.Exclusive, 3, false},
	} {
		t.Run(name, func(t *testing.T) {
			h := open(t, history.Config{})
			hold(h, 1, 0, tt.first, tt.fence)
			hold(h, 2, 10, tt.then, 2)
			ask(h, "x", 3, at(20), nil)
			want, behind := history.Holding, 2
			if tt.over {
				want, behind = history.Unknown, 1
			}
			all := look(t, h, history.Query{Lock: "x"}).Attempts
			if got := all[2].Outcome; got != want {
				t.Errorf("the first is %s, want %s", got, want)
			}
			if got := all[1].Outcome; got != history.Holding {
				t.Errorf("the second is %s, want holding", got)
			}
			if got := all[0].Meanwhile; len(got) != behind {
				t.Errorf("the last waits behind %+v, want %d", got, behind)
			}
		})
	}
}

// Of what was cut off it is not known how long it waited or held, so that it is not among those who
// did so for no time at all.
func TestTotalsOfWhatWasCutOff(t *testing.T) {
	dir := t.TempDir()
	h := open(t, history.Config{Dir: dir})
	at := time.Now().Add(-time.Hour)
	for n := range 3 {
		ask(h, "x", n, at, nil)
		ask(h, "x", 10+n, at, nil).grant(at.Add(time.Minute), backend.Fence(n+1))
	}
	attempt(h, "x", 20, time.Hour, time.Minute, time.Minute)
	h.Close()
	n := look(t, open(t, history.Config{Dir: dir}), history.Query{Lock: "x"}).Totals
	if n.Attempts != 7 || n.Waited.N() != 4 || n.Waited.Percentile(0.01) != time.Minute || n.Held.N() != 1 {
		t.Errorf("%d attempts, %d waits, the shortest of %v, %d holds; want 7, 4 of 1m, and 1", n.Attempts, n.Waited.N(), n.Waited.Percentile(0.01), n.Held.N())
	}
}

// Lines that were cut off, damaged or written by a later version are left out.
func TestDamage(t *testing.T) {
	dir := t.TempDir()
	h := open(t, history.Config{Dir: dir})
	attempt(h, "x", 1, time.Minute, time.Second, time.Second)
	h.Close()
	for _, path := range segmentsOf(t, dir) {
		f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.WriteString("\x00\x00{]\n" + strings.Repeat("long", 1<<16) + "\n" + `{"kind":"later","lock":"x"}` + "\n" + `{"kind":"attempt","lock":"x","who":{"own`)
		if f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if r := look(t, open(t, history.Config{Dir: dir}), history.Query{Lock: "x"}); len(r.Attempts) != 1 {
		t.Errorf("attempts %+v, want the one", r.Attempts)
	}
}

// A page has at most so many, and the next goes on where it ended.
func TestPages(t *testing.T) {
	h := open(t, history.Config{})
	for i := range 25 {
		attempt(h, "x", i+1, time.Hour-time.Duration(i)*time.Minute, time.Second, time.Second)
	}
	var got []uint64
	q := history.Query{Lock: "x", Limit: 10}
	for range 3 {
		r := look(t, h, q)
		if r.Totals.Attempts != 25 {
			t.Errorf("totals of %d attempts, want 25 on each page", r.Totals.Attempts)
		}
		for _, a := range r.Attempts {
			got = append(got, a.Fence)
		}
		q.Before = r.Next
	}
	if len(got) != 25 || got[0] != 25 || got[24] != 1 || !q.Before.IsZero() {
		t.Errorf("got %v, then next %v; want 25 to 1, then the end", got, q.Before)
	}
	if r := look(t, h, history.Query{Lock: "x", Since: time.Now().Add(-45*time.Minute - 30*time.Second)}); len(r.Attempts) != 10 {
		t.Errorf("%d since 45.5m, want 10", len(r.Attempts))
	}
}

// Attempts that began at the same time are on one page, each on one alone.
func TestPagesOfTheSameTime(t *testing.T) {
	h := open(t, history.Config{})
	at := time.Now().Add(-time.Minute).Truncate(time.Microsecond)
	var callers []*caller
	for n := range 5 {
		callers = append(callers, ask(h, "x", n, at.Add(time.Duration(n)), nil))
	}
	ask(h, "x", 5, at.Add(-time.Second), nil)
	first := look(t, h, history.Query{Lock: "x", Limit: 3})
	for i, c := range callers { // what was told is on disk when the next page is asked for
		c.grant(at.Add(time.Second), backend.Fence(i+1))
		c.step(session.StepReleased, at.Add(2*time.Second), "")
	}
	next := look(t, h, history.Query{Lock: "x", Limit: 3, Before: first.Next})
	if len(first.Attempts) != 5 || len(next.Attempts) != 1 || next.Attempts[0].Who.PID != 1005 || !next.Next.IsZero() {
		t.Errorf("%d attempts, then %+v; want the 5 of one time, then the one before", len(first.Attempts), next.Attempts)
	}
}

// A wait of several requests stands where its first request does, on one page alone.
func TestPagesOfOneWait(t *testing.T) {
	h := open(t, history.Config{})
	began := time.Now().Add(-20 * time.Minute)
	at := func(minutes int) time.Time { return began.Add(time.Duration(minutes) * time.Minute) }
	ask(h, "x", 1, at(0), nil).step(session.StepRefused, at(5), string(session.CodeWaitTimeout))
	for n := 2; n < 5; n++ {
		ask(h, "x", n, at(n), nil).step(session.StepRefused, at(n), string(session.CodeLocked))
	}
	again := ask(h, "x", 1, at(5), nil)
	again.grant(at(6), 5)
	again.step(session.StepReleased, at(7), "")

	var got []int
	q := history.Query{Lock: "x", Limit: 1}
	for range 10 {
		r := look(t, h, q)
		for _, a := range r.Attempts {
			got = append(got, a.Who.PID)
		}
		if q.Before = r.Next; q.Before.IsZero() {
			break
		}
	}
	if want := []int{1004, 1003, 1002, 1001}; !slices.Equal(got, want) {
		t.Errorf("the pages have the attempts of %v, want %v", got, want)
	}
}

// The files are bounded in size and in age, whatever happens.
func TestBounds(t *testing.T) {
	dir := t.TempDir()
	const most = 256 << 10
	h := open(t, history.Config{Dir: dir, MaxSize: most})
	for round := range 40 {
		for i := range 110 {
			attempt(h, "lock-"+string(rune('a'+round%26)), round*1000+i, time.Minute, time.Second, time.Second)
		}
		look(t, h, history.Query{Lock: "nothing"}) // all that came is written
		var size int64
		for _, path := range segmentsOf(t, dir) {
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			size += info.Size()
		}
		if size > most {
			t.Fatalf("%d bytes after %d rounds, want %d at most", size, round, most)
		}
	}
	if r := look(t, h, history.Query{Lock: "lock-n"}); len(r.Attempts) == 0 {
		t.Error("nothing is left of the last round")
	}
	h.Close()
	old := time.Now().Add(-8 * 24 * time.Hour)
	before := segmentsOf(t, dir)
	for _, path := range before {
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
	}
	h = open(t, history.Config{Dir: dir, MaxSize: most})
	attempt(h, "x", 1, time.Second, time.Second, 0)
	look(t, h, history.Query{Lock: "x"})
	if after := segmentsOf(t, dir); len(after) != 1 {
		t.Errorf("%d files of %d, want the new one alone", len(after), len(before))
	}
}

func segmentsOf(t *testing.T, dir string) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Attempts that say little give way: they are counted, and those that somebody will
// look for stay.
func TestLittleIsCounted(t *testing.T) {
	dir := t.TempDir()
	h := open(t, history.Config{Dir: dir})
	const n = 5000
	for i := range n {
		attempt(h, "busy", i+1, time.Minute, 0, time.Millisecond)
	}
	attempt(h, "nightly", 1, time.Minute, time.Second, time.Minute)
	h.Close()
	h = open(t, history.Config{Dir: dir})
	r := look(t, h, history.Query{Lock: "busy"})
	if r.Totals.Attempts != n || r.Counted == 0 || len(r.Attempts)+r.Counted != n || len(r.Attempts) > 200 {
		t.Errorf("%d of %d attempts have lines, %d are counted; want few lines and none missing", len(r.Attempts), r.Totals.Attempts, r.Counted)
	}
	if r := look(t, h, history.Query{Lock: "nightly"}); len(r.Attempts) != 1 {
		t.Errorf("the job has %d lines, want 1", len(r.Attempts))
	}
}

// Record never waits: not for a full buffer, and not for a disk that takes nothing.
// What is missing is counted and said.
func TestNeverInTheWay(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "history")
	var log syncBuffer
	h := open(t, history.Config{Dir: dir, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir, nil, 0o600); err != nil { // no directory any more: nothing can be written
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for range 20_000 {
				c := caller{h: h, lock: "x", who: who(g), asked: time.Now()}
				c.step(session.StepRefused, time.Now(), "locked")
			}
		})
	}
	wg.Wait()
	deadline := time.Now().Add(20 * time.Second)
	for {
		n, err := h.Dropped()
		if n > 0 && err != nil && strings.Contains(log.String(), "dropped=") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("dropped %d, err %v, log %q; want some, why, and that it is said", n, err, log.String())
		}
		time.Sleep(20 * time.Millisecond)
	}
	// It goes on by itself once there is room.
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for n := 100; ; n++ {
		attempt(h, "y", n, time.Minute, time.Second, time.Second)
		if r := look(t, h, history.Query{Lock: "y"}); len(r.Attempts) > 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("nothing is written again")
		}
		time.Sleep(200 * time.Millisecond)
	}
	if _, err := h.Dropped(); err != nil {
		t.Errorf("still broken: %v", err)
	}
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// The percentiles of what was counted are right within a fifth, also when it was
// written and read in between.
func TestDurations(t *testing.T) {
	var d history.Durations
	for i := range 1000 {
		d.Add(time.Duration(i+1) * time.Millisecond)
	}
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	var again history.Durations
	if err := json.Unmarshal(text, &again); err != nil {
		t.Fatal(err)
	}
	for _, d := range []history.Durations{d, again} {
		for p, want := range map[float64]time.Duration{0.5: 500 * time.Millisecond, 0.99: 990 * time.Millisecond, 1: time.Second} {
			if got := d.Percentile(p); got < want || got > want*6/5 {
				t.Errorf("percentile %v = %v, want %v or a fifth more at most", p, got, want)
			}
		}
		if d.N() != 1000 || d.Worst() != time.Second {
			t.Errorf("%d, worst %v; want 1000, 1s", d.N(), d.Worst())
		}
	}
}

// The locks that were waited for most come first, and only those that one may see.
func TestContended(t *testing.T) {
	h := open(t, history.Config{})
	attempt(h, "calm", 1, time.Minute, 0, 2*time.Second)
	attempt(h, "hot", 2, time.Minute, 20*time.Second, time.Second)
	attempt(h, "secret", 3, time.Minute, 30*time.Second, time.Second)
	waits := ask(h, "warm", 4, time.Now().Add(-10*time.Second), nil)
	sees := func(lock string) bool { return lock != "secret" }
	all, err := h.Contended(context.Background(), time.Now().Add(-time.Hour), 2, sees)
	if err != nil || len(all) != 2 || all[0].Lock != "hot" || all[1].Lock != "warm" {
		t.Fatalf("%+v, %v; want hot, warm", all, err)
	}
	if got := all[0].Waited.Percentile(0.5); got < 20*time.Second || got > 24*time.Second {
		t.Errorf("p50 of hot = %v, want about 20s", got)
	}
	waits.step(session.StepRefused, time.Now(), session.ReasonHungUp)
	all, err = h.Contended(context.Background(), time.Now().Add(-time.Hour), 9, sees)
	if err != nil || len(all) != 3 || all[1].Refused != 1 {
		t.Errorf("%+v, %v; want three, the second with one that gave up", all, err)
	}
}

func BenchmarkRecord(b *testing.B) {
	h, err := history.Open(history.Config{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	defer h.Close()
	c := caller{h: h, lock: "x", who: who(1), asked: time.Now()}
	for b.Loop() {
		c.grant(time.Now(), 1)
		c.step(session.StepReleased, time.Now(), "")
	}
	n, _ := h.Dropped()
	b.ReportMetric(float64(n)/float64(b.N), "dropped/op")
}
