package session_test

import (
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/session"
)

// A max_hold of 2562047h, added to the clock, once lay in the past: the hold was over
// before it could be told, and its caller was given one turn after the other.
func TestParseDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"30s": 30 * time.Second, "1h30m": 90 * time.Minute, "0.25": time.Second / 4, "0": 0, "7d": 168 * time.Hour, "1d12h": 36 * time.Hour, "0d": 0, "1281023h": 1281023 * time.Hour,
	} {
		if d, err := session.ParseDuration(text); err != nil || d != want {
			t.Errorf("%q is read as %v, %v; want %v", text, d, err, want)
		}
	}
	for text, why := range map[string]string{
		"": "no duration", "x": "no duration", "+1s": "no duration", "-1s": "negative", "1281024h": "too long",
		"d": "no duration", "1.5d": "no duration", "1d+1h": "no duration", "1d-1h": "negative", "99999d": "too long", "7d7": "no duration",
		"2562047h": "too long", "2562048h": "no duration", "4611686019": "too long", "99999999999999999999": "too long",
	} {
		if d, err := session.ParseDuration(text); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q is read as %v, %v; want an error with %q", text, d, err, why)
		}
	}
}
