package session

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"
)

// What is a lock name can be sent, stored, listed and logged as it is, on one line.
func FuzzCheckName(f *testing.F) {
	for _, s := range []string{"nightly", "orders/7", "a{b}c", "}{", "..", "a%2Fb", "*", "é", "e\u0301", "\xff", "a\nb", "a\u202eb", "\u200b", "lockgw:x", strings.Repeat("x", MaxName+1)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if CheckName(name) != nil {
			return
		}
		if name == "" || len(name) > MaxName || !utf8.ValidString(name) || len(strings.Fields(name)) != 1 || strings.ContainsAny(name, "\x00\x1b\x7f") {
			t.Errorf("%q is a name", name)
		}
		if got, err := url.PathUnescape(url.PathEscape(name)); err != nil || got != name {
			t.Errorf("%q is %q in a path, %v", name, got, err)
		}
		b, err := json.Marshal(name)
		var got string
		if err != nil || json.Unmarshal(b, &got) != nil || got != name {
			t.Errorf("%q is %q in JSON, %v", name, b, err)
		}
		// The slot of a name in Redis Cluster is that of its tag, or of all of it; the keys
		// beside a name are made for it by the same rule.
		if i, j := strings.IndexByte(name, '{'), strings.IndexByte(name, '}'); (i >= 0) != (j >= 0) || i >= 0 && j < i+2 {
			t.Errorf("%q has braces that are no tag", name)
		}
	})
}
