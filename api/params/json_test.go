package params

import (
	"encoding/json"
	"testing"
)

// What decode takes is JSON in which no name is there twice, whatever was sent.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		`{"ttl":5,"note":"a","renew":true,"bind":{"pid":1}}`, `{"a":1,"a":2}`, `{"a":[1,{"b":null}]}`, `{"a":1]`, `{"a" 1}`, `{,}`, `[]`, "", `{}{}`,
		`"\ud83d\ude00"`, `"\ud83d"`, `"\\\ud83d\\ude00"`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := decode(b)
		if err == nil && !json.Valid(b) {
			t.Errorf("decode(%q) = %+v, want an error: it is no JSON", b, v)
		}
		seen := map[string]bool{}
		for _, m := range v.members {
			if seen[m.name] {
				t.Errorf("decode(%q) has %q twice", b, m.name)
			}
			seen[m.name] = true
		}
	})
}

// A character of two halves is one, and what only looks like half of one is text.
func TestHalfCharacters(t *testing.T) {
	for sent, want := range map[string]string{
		`"\ud83d\ude00"`: "\U0001f600", `"\uD83D\uDE00\ud83d\ude00"`: "\U0001f600\U0001f600", `"\\ud83d"`: `\ud83d`, `"\\\\ude00"`: `\\ude00`,
		`"\ufffd"`: "\ufffd", `"\"\u0061"`: `"a`, `"\ud83d"`: "", `"\ude00\ud83d"`: "", `"\\\ude00"`: "", `"\ud83d\u0061"`: "", `"\ud83d\n"`: "",
	} {
		if v, err := decode([]byte(sent)); v.text != want || (err != nil) != (want == "") {
			t.Errorf("decode(%s) = %q, %v, want %q", sent, v.text, err, want)
		}
	}
}
