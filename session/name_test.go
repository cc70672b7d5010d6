package session_test

import (
	"strings"
	"testing"

	"github.com/lockgw/lockgw/session"
)

// Two names that look alike would be two locks, and both their callers would think that
// they have the one.
func TestNamesThatLookAlike(t *testing.T) {
	for name, hidden := range map[string]string{
		"zero width space": "\u200b", "zero width joiner": "\u200d", "right to left": "\u202e", "isolate": "\u2066", "mark": "\u200f",
		"byte order mark": "\ufeff", "soft hyphen": "\u00ad", "word joiner": "\u2060", "variation selector": "\ufe0f", "tag": "\U000e0061",
		"Hangul filler": "\u3164", "empty Braille": "\u2800", "line separator": "\u2028", "Mongolian separator": "\u180e", "grapheme joiner": "\u034f",
	} {
		err := session.CheckName("night" + hidden + "ly")
		if session.CodeOf(err) != session.CodeInvalid || !strings.Contains(err.Error(), "U+") {
			t.Errorf("%s: %v, want a refusal that names it", name, err)
		}
	}
	for _, name := range []string{"nightly", "größe", "夜间", "ночь", "लॉक", "قفل", "a/b:c+d%{e}", "🔒"} {
		if err := session.CheckName(name); err != nil {
			t.Errorf("%q: %v, want it allowed", name, err)
		}
	}
}

// A prefix is refused if no name begins with it.
func TestCheckPrefix(t *testing.T) {
	long := strings.Repeat("x", session.MaxName-1)
	for prefix, good := range map[string]bool{
		"": true, "a": true, "{": true, "{tag": true, "{tag}": true, "a{tag}b": true, long + "x": true, "{" + long[1:]: true,
		"a b": false, "a}": false, "{}": false, "{a}{": false, "{a{": false, "lockgw:": false, long + "xx": false, "{" + long: false, long + "{": false, "\xff": false,
	} {
		if err := session.CheckPrefix(prefix); (err == nil) != good {
			t.Errorf("%q: %v, want it allowed: %v", prefix, err, good)
		}
	}
}
