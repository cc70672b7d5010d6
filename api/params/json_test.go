package params

import (
	"encoding/json"
	"testing"
)

// What decode takes is JSON in which no name is there twice, whatever was sent.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		`{"ttl":5,"note":"a","renew":true,"bind":{"pid":1}}`, `{"a":1,"a":2}`, `{"a":[1,{"b":null}]}`, `{"a":1]`, `{"a" 1}`, `{,}`, `[]`, "", `{}{}`,
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
