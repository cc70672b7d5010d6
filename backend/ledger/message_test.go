package ledger

import (
	"errors"
	"strings"
	"testing"

	"github.com/lockgw/lockgw/backend"
)

// A message that is one text is read as it was written, and what nobody sends is none.
func TestParseMessage(t *testing.T) {
	long := strings.Repeat("x", MaxText)
	for payload, want := range map[string]struct {
		name, text, with string
		kind             Kind
	}{
		Heading(Look, "jobs"):                     {"jobs", "", "", Look},
		Heading(Waits, "two words"):               {"two words", "", "", Waits},
		Heading(Broken, "jobs") + " its record":   {"jobs", "", "its record", Broken},
		Heading(Tell, "jobs") + " what do I know": {"jobs", "what do I know", "", Tell},
		Heading(Told, "jobs") + " " + long:        {"jobs", long, "", Told},
		Heading(Look, "jobs") + " " + long + "x":  {"jobs", "", long + "x", Look},
	} {
		m, with, ok := ParseMessage(payload, "a")
		if !ok || m.Node != "a" || m.Name != want.name || m.Kind != want.kind || m.Text != want.text || with != want.with {
			t.Errorf("%.40q is %+v with %q, %v", payload, m, with, ok)
		}
	}
	for _, payload := range []string{
		"", "look", "1", "1 4", "x 4 jobs", "1 x jobs", "1 5 jobs", "1 -1 jobs", "1 0 ", "1 0 jobs", "0 4 jobs",
		Heading(Resync, "jobs"), Heading(Deaf, "jobs"), Heading(Told, "jobs") + " " + long + "x",
	} {
		if m, _, ok := ParseMessage(payload, "a"); ok {
			t.Errorf("%.40q is %+v, want no message", payload, m)
		}
	}
	if m, ok := NewMessage("a", "", Look, ""); ok {
		t.Errorf("about no name: %+v", m)
	}
}

// A text goes with what has one, and is not longer than may be.
func TestTexts(t *testing.T) {
	long := strings.Repeat("x", MaxText)
	for _, tt := range []struct {
		k    Kind
		text string
		ok   bool
	}{
		{Look, "", true}, {Tell, "", true}, {Tell, long, true}, {Told, long, true}, {Tell, long + "x", false}, {Told, long + "x", false}, {Look, "x", false},
	} {
		err := Texts([]Addressed{{Name: "jobs", Message: Message{Kind: tt.k, Text: tt.text}}})
		if ok := err == nil; ok != tt.ok || !ok && !errors.Is(err, backend.ErrInvalid) {
			t.Errorf("a message of kind %d with a text of %d bytes: %v", tt.k, len(tt.text), err)
		}
	}
}
