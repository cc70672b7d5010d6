package cli

import (
	"testing"
	"time"

	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/socket/client"
)

func TestHolderText(t *testing.T) {
	for _, tt := range []struct {
		h    client.Holder
		want string
	}{
		{client.Holder{Node: "n", Process: client.Process{PID: 1, Command: "lockgw"}, Note: "job"}, "n pid 1 (job)"},
		{client.Holder{Node: "n", Process: client.Process{PID: 1, Command: "sh"}, Note: "job"}, "n pid 1 (sh, job)"},
		{client.Holder{Node: "n\x1b[2J", Owner: "u:1"}, "n?[2J"},
		{client.Holder{Owner: "u:1"}, "u:1"},
		{client.Holder{Owner: "u:1", Note: "a program"}, "u:1"}, // the owner id tells one from another
		{client.Holder{Note: "a program\n"}, "a program?"},
	} {
		if got := HolderText(&tt.h); got != tt.want {
			t.Errorf("holderText(%+v) = %q, want %q", tt.h, got, tt.want)
		}
	}
}

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", time.Second: "1s", 5 * time.Minute: "5m", 72 * time.Hour: "3d", 25 * time.Hour: "25h", 90 * time.Minute: "1h30m",
		10 * time.Second: "10s", time.Hour + time.Second: "1h0m1s", 250 * time.Millisecond: "250ms",
	} {
		if got := Duration(d); got != want {
			t.Errorf("duration(%v) = %q, want %q", d, got, want)
		}
		if back, err := session.ParseDuration(Duration(d)); err != nil || back != d {
			t.Errorf("%q is read as %v, %v; want %v", Duration(d), back, err, d)
		}
	}
	if got := Age(-time.Second); got != "0s" {
		t.Errorf("age(-1s) = %q, want 0s", got)
	}
	if got := Age(192*time.Second + 999*time.Millisecond); got != "3m12s" {
		t.Errorf("age(192.999s) = %q, want 3m12s", got)
	}
}

func TestDidYouMean(t *testing.T) {
	words := []string{"url", "key_prefix", "timeout", "redis"}
	for word, want := range map[string]string{
		"ulr": `, did you mean "url"?`, "keyprefix": `, did you mean "key_prefix"?`, "timout": `, did you mean "timeout"?`,
		"nonsense": "", "": "", "x": "",
	} {
		if got := DidYouMean(word, words); got != want {
			t.Errorf("didYouMean(%q) = %q, want %q", word, got, want)
		}
	}
}

func TestOrdinal(t *testing.T) {
	for n, want := range map[int]string{1: "1st", 2: "2nd", 3: "3rd", 4: "4th", 11: "11th", 12: "12th", 13: "13th", 21: "21st", 102: "102nd", 111: "111th"} {
		if got := Ordinal(n); got != want {
			t.Errorf("ordinal(%d) = %q, want %q", n, got, want)
		}
	}
}
