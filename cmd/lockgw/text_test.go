package main

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/session"
)

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", time.Second: "1s", 5 * time.Minute: "5m", 72 * time.Hour: "72h", 90 * time.Minute: "1h30m",
		10 * time.Second: "10s", time.Hour + time.Second: "1h0m1s", 250 * time.Millisecond: "250ms",
	} {
		if got := duration(d); got != want {
			t.Errorf("duration(%v) = %q, want %q", d, got, want)
		}
		if back, err := session.ParseDuration(duration(d)); err != nil || back != d {
			t.Errorf("%q is read as %v, %v; want %v", duration(d), back, err, d)
		}
	}
	if got := age(-time.Second); got != "0s" {
		t.Errorf("age(-1s) = %q, want 0s", got)
	}
	if got := age(192*time.Second + 999*time.Millisecond); got != "3m12s" {
		t.Errorf("age(192.999s) = %q, want 3m12s", got)
	}
}

func TestStatusOfSeveral(t *testing.T) {
	now := time.Now()
	st := session.Status{Name: "db", State: session.StateHeld, Mode: 9, Holders: 4, Fence: 7, TTL: 20 * time.Second}
	for i, pid := range []int{11, 12} {
		h := session.Holder{Node: "host-a", Peer: session.Peer{PID: pid, Command: "job"}, Since: now.Add(-time.Minute)}
		st.Shares = append(st.Shares, session.Share{Holder: h, Fence: backend.Fence(5 + i), TTL: 10 * time.Second})
	}
	var b strings.Builder
	if err := writeBlock(&b, st, now); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"1st holder:  host-a pid 11 (job), for 1m, fence 5, 10s left", "2nd holder:  host-a pid 12 (job), for 1m, fence 6, 10s left",
		"Others:      2 more hold it",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("status is\n%swant %q in it", b.String(), want)
		}
	}
	st.Holders, st.Shares = 1, st.Shares[:1]
	b.Reset()
	if err := writeBlock(&b, st, now); err != nil || strings.Contains(b.String(), "1st holder") {
		t.Errorf("status of one holder is\n%s, %v, want no list", b.String(), err)
	}
}

func TestDidYouMean(t *testing.T) {
	words := []string{"url", "key_prefix", "timeout", "redis"}
	for word, want := range map[string]string{
		"ulr": `, did you mean "url"?`, "keyprefix": `, did you mean "key_prefix"?`, "timout": `, did you mean "timeout"?`,
		"nonsense": "", "": "", "x": "",
	} {
		if got := didYouMean(word, words); got != want {
			t.Errorf("didYouMean(%q) = %q, want %q", word, got, want)
		}
	}
}

func TestOrdinal(t *testing.T) {
	for n, want := range map[int]string{1: "1st", 2: "2nd", 3: "3rd", 4: "4th", 11: "11th", 12: "12th", 13: "13th", 21: "21st", 102: "102nd", 111: "111th"} {
		if got := ordinal(n); got != want {
			t.Errorf("ordinal(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestCut(t *testing.T) {
	for _, tt := range []struct {
		text    string
		columns int
		want    string
	}{{"abc", 4, "abc"}, {"abc", 3, "ab"}, {"äöü", 3, "äö"}, {"abc", 0, ""}} {
		if got := cut(tt.text, tt.columns); got != tt.want {
			t.Errorf("cut(%q, %d) = %q, want %q", tt.text, tt.columns, got, tt.want)
		}
	}
}

// Outside of a terminal the log is JSON, and a changed level counts at once.
func TestLog(t *testing.T) {
	var out strings.Builder
	level := new(slog.LevelVar)
	log := newLog(&out, logConfig{Format: "auto"}, level)
	log.Debug("unseen")
	level.Set(logConfig{Level: "debug"}.level())
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
	newLog(&out, logConfig{Format: "text"}, level).Info("hello", "key", 1)
	if got := out.String(); !strings.Contains(got, "INF hello key=1\n") {
		t.Errorf("log = %q, want plain text without colours", got)
	}
}
