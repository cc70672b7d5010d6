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

// How a client writes a number makes no difference.
func TestNumbers(t *testing.T) {
	for sent, want := range map[string]string{
		"0": "0", "1": "1", "1.0": "1", "1e0": "1", "10E-1": "1", "0.1e+1": "1", "1.50": "1.5", "1.5e1": "15", "100": "100", "1e2": "100",
		"0.25": "0.25", "2.5e-1": "0.25", "1e-7": "0.0000001", "-0": "0", "-0.0": "0", "-1.0": "-1", "-2.5e1": "-25", "0e0": "0",
		"9223372036854775807": "9223372036854775807", "9223372036854775807.0": "9223372036854775807", "1e33": "1e33", "1e-33": "1e-33",
		"1e99999999999999999999": "1e99999999999999999999",
	} {
		if v, err := decode([]byte(sent)); err != nil || v.kind != kindNumber || v.text != want {
			t.Errorf("decode(%s) = %q, %v, want %q", sent, v.text, err, want)
		}
	}
}
