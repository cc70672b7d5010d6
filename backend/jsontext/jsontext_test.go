package jsontext

import (
	"encoding/json"
	"testing"
	"time"
)

func FuzzQuote(f *testing.F) {
	for _, s := range []string{"", "a", `"`, `\`, `a"b\c`, "<&>", "é", "\xff", "a\nb", "\x7f", "\u2028", " "} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		want, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if got := Quote([]byte("before"), s); string(got) != "before"+string(want) {
			t.Fatalf("Quote(%q) = %s, want before%s", s, got, want)
		}
	})
}

// What is empty is left out, as omitempty has it.
func TestEmpty(t *testing.T) {
	b := Text(Number(Unsigned(Flag(nil, "a", false), "b", 0), "c", 0), "d", "")
	if len(b) > 0 {
		t.Errorf("empty values are written: %s", b)
	}
}

func TestMoment(t *testing.T) {
	at := time.Date(2026, 8, 1, 2, 3, 4, 5000, time.FixedZone("", 3600))
	want, err := at.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	if got := Moment(nil, at); string(got) != string(want) {
		t.Errorf("Moment = %s, want %s", got, want)
	}
}
