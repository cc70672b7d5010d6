package params

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/session/listing"
)

// Note is a line of text for people.
type Note string

// Read sets n.
func (n *Note) Read(v Value) error { return line(n, v, session.MaxNote) }

// Owner is an owner id, as the status of a lock tells it. One outside lockgw may have any form.
type Owner string

// Read sets o. An empty one is a variable that a script has not set.
func (o *Owner) Read(v Value) error {
	if v.text == "" {
		return errors.New("must not be empty")
	}
	return line(o, v, session.MaxName)
}

// Name is the beginning of a lock's name, or where a list goes on.
type Name string

// Read sets n.
func (n *Name) Read(v Value) error { return line(n, v, session.MaxName) }

// Cursor says where a list goes on. It may be longer than a name.
type Cursor string

const maxCursor = 2 << 10

// Read sets c.
func (c *Cursor) Read(v Value) error { return line(c, v, maxCursor) }

// line reads text that is shown to people: one line of at most that many bytes, without
// characters that change a terminal.
func line[S ~string](s *S, v Value, most int) error {
	switch err := v.must(kindText); {
	case err != nil:
		return err
	case len(v.text) > most:
		return fmt.Errorf("is %d bytes long, the limit is %d", len(v.text), most)
	case !utf8.ValidString(v.text):
		return errors.New("is not valid UTF-8")
	case strings.ContainsFunc(v.text, tricky):
		return errors.New("must not contain control characters")
	}
	*s = S(v.text)
	return nil
}

func tricky(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }

// Shared is the mode of a hold, exclusive or shared.
type Shared bool

// Read sets s.
func (s *Shared) Read(v Value) error {
	word, err := oneOf(v, "exclusive", "shared")
	*s = word == "shared"
	return err
}

// State of a lock that a list is about; "": any.
type State session.State

// Read sets s.
func (s *State) Read(v Value) error {
	word, err := oneOf(v, listing.States...)
	*s = State(word)
	return err
}

// Sort is what a list is sorted by; "": by name.
type Sort listing.Order

// Read sets s.
func (s *Sort) Read(v Value) error {
	word, err := oneOf(v, listing.Orders...)
	*s = Sort(word)
	return err
}

// Order is the direction in which a list is sorted; "": that of what it is sorted by.
type Order string

// Read sets o.
func (o *Order) Read(v Value) error {
	word, err := oneOf(v, "asc", "desc")
	*o = Order(word)
	return err
}

func oneOf[T ~string](v Value, words ...T) (T, error) {
	if err := v.must(kindText); err != nil {
		return "", err
	}
	word := T(v.text)
	if slices.Contains(words, word) {
		return word, nil
	}
	known := make([]string, len(words))
	for i, w := range words {
		known[i] = string(w)
	}
	return "", fmt.Errorf("must be one of %s", strings.Join(known, ", "))
}

// Names is a JSON array of strings with something in it. What a lock name may be is
// for the core to say.
type Names []string

// Read sets n.
func (n *Names) Read(v Value) error {
	switch {
	case v.kind == kindQuery:
		return errors.New("belongs in the JSON body, as an array of strings")
	case v.kind != kindArray:
		return v.must(kindArray)
	case len(v.items) == 0:
		return errors.New("must have at least one")
	}
	for i, item := range v.items {
		if err := item.must(kindText); err != nil {
			return fmt.Errorf("number %d %w", i+1, err)
		}
		*n = append(*n, item.text)
	}
	return nil
}

// maxMeta is how long the names and values of a Meta may be together: a session keeps
// them, in the journal too, and there may be very many sessions.
const maxMeta = 4 << 10

// Meta is a JSON object whose members are text for people.
type Meta map[string]string

// Read sets m.
func (m *Meta) Read(v Value) error {
	if err := v.must(kindObject); err != nil {
		return err
	}
	*m = make(Meta, len(v.members))
	size := 0
	for _, p := range v.members {
		var name, text Note
		err := name.Read(Value{kind: kindText, text: p.name})
		if err == nil {
			err = text.Read(p.value)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", short(p.name), err)
		}
		(*m)[string(name)] = string(text)
		size += len(name) + len(text)
	}
	if size > maxMeta {
		return fmt.Errorf("is %d bytes long, the limit is %d", size, maxMeta)
	}
	return nil
}
