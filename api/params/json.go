package params

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/lockgw/lockgw/session"
)

// Limits of JSON: how deep it may be nested, how many names an object may have.
const (
	maxDepth = 4
	maxNames = 64
)

// A Value is a parameter as it was sent. Its kind is kept, so that "true" in
// quotes is not taken for true.
type Value struct {
	kind    kind
	text    string  // a number without exponent, see plain
	members Params  // of an object
	items   []Value // of an array
}

type kind string

// The kinds of JSON. A parameter of the query is text that may be a number or a
// boolean too.
const (
	kindQuery   kind = ""
	kindText    kind = "a string"
	kindNumber  kind = "a number"
	kindBoolean kind = "a boolean"
	kindNull    kind = "null"
	kindObject  kind = "an object"
	kindArray   kind = "an array"
)

// Text is v as it was sent, for a type of which this package has none.
func (v Value) Text() string { return v.text }

// must says whether v is of one of the kinds.
func (v Value) must(kinds ...kind) error {
	if v.kind == kindQuery || slices.Contains(kinds, v.kind) {
		return nil
	}
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = string(k)
	}
	return fmt.Errorf("must be %s, not %s", strings.Join(names, " or "), v.kind)
}

type param struct {
	name  string
	value Value
}

// Params are the parameters that a request was sent, in no order that matters.
type Params []param

// Has says whether name was sent.
func (ps Params) Has(name string) bool {
	return slices.ContainsFunc(ps, func(p param) bool { return p.name == name })
}

// inBody reads the members of the JSON object that is the body, none if there
// is no body.
func inBody(r *http.Request) (Params, error) {
	b, err := io.ReadAll(r.Body)
	if len(b) == 0 || err != nil {
		return nil, err
	}
	if !utf8.Valid(b) {
		return nil, session.Invalid("body", "is not valid UTF-8")
	}
	v, err := decode(b)
	if err != nil {
		return nil, session.Invalid("body", "%v", err)
	}
	if v.kind != kindObject {
		return nil, session.Invalid("body", "must be a JSON object, not %s", v.kind)
	}
	return v.members, nil
}

// decode reads one JSON value that is all of b. Unlike json.Unmarshal it refuses
// an object that has the same name twice.
func decode(b []byte) (Value, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	v, err := decodeValue(d, maxDepth)
	if err != nil {
		return Value{}, notJSON(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Value{}, errors.New("has something after the JSON object")
	}
	if half := halfCharacter(b); half != "" {
		return Value{}, fmt.Errorf("has %s, which is half of a character", half)
	}
	return v, nil
}

// halfCharacter is the first surrogate of valid JSON that has no partner, as it is written
// there; "": none. The decoder replaces each by U+FFFD, so that two names would become one.
func halfCharacter(b []byte) string {
	const size = len(`\u0000`)
	for i := bytes.IndexByte(b, '\\'); i >= 0 && i < len(b); i++ {
		switch {
		case b[i] != '\\':
		case !utf16.IsSurrogate(escaped(b[i:])):
			i++ // what is escaped may be a backslash
		case utf16.DecodeRune(escaped(b[i:]), escaped(b[i+size:])) == utf8.RuneError:
			return string(b[i : i+size])
		default:
			i += 2*size - 1
		}
	}
	return ""
}

// escaped is the character that b begins with, if it is written as \u and four digits; else 0.
func escaped(b []byte) rune {
	if !bytes.HasPrefix(b, []byte(`\u`)) {
		return 0
	}
	n, _ := strconv.ParseUint(string(b[2:6]), 16, 16) // in valid JSON four digits follow
	return rune(n)
}

// unfit is JSON that is not taken all the same.
type unfit string

func (u unfit) Error() string { return string(u) }

func notJSON(err error) error {
	if u, ok := errors.AsType[unfit](err); ok {
		return u
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("is not whole: the JSON ends too early")
	}
	return fmt.Errorf("is not valid JSON: %w", err)
}

func decodeValue(d *json.Decoder, depth int) (Value, error) {
	t, err := d.Token()
	if err != nil {
		return Value{}, err
	}
	switch t := t.(type) {
	case string:
		return Value{kind: kindText, text: t}, nil
	case json.Number:
		return Value{kind: kindNumber, text: plain(t.String())}, nil
	case bool:
		return Value{kind: kindBoolean, text: fmt.Sprint(t)}, nil
	case json.Delim:
		if depth == 0 {
			return Value{}, unfit("is nested too deeply")
		}
		if t == '{' {
			return decodeObject(d, depth-1)
		}
		return decodeArray(d, depth-1)
	}
	return Value{kind: kindNull}, nil
}

// plain is a number of JSON in the one way in which this package reads it: JSON knows no
// difference between 1, 1.0 and 10e-1, and what a client's library writes is not up to the client.
// A number whose exponent is far out of every range stays as it is, and is refused.
func plain(number string) string {
	const most = 32
	mantissa, power, _ := strings.Cut(strings.ToLower(number), "e")
	exponent, err := strconv.Atoi(cmp.Or(power, "0"))
	if err != nil || exponent > most || exponent < -most {
		return number
	}
	digits, negative := strings.CutPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(digits, ".")
	zeros := strings.Repeat("0", most)
	all := zeros + whole + fraction + zeros
	point := most + len(whole) + exponent
	whole, fraction = strings.TrimLeft(all[:point], "0"), strings.TrimRight(all[point:], "0")
	text := cmp.Or(whole, "0")
	if fraction != "" {
		text += "." + fraction
	}
	if negative && text != "0" {
		text = "-" + text
	}
	return text
}

func decodeObject(d *json.Decoder, depth int) (Value, error) {
	v := Value{kind: kindObject}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return Value{}, err
		}
		name, _ := t.(string) // the decoder lets nothing else be a name
		if v.members.Has(name) {
			return Value{}, unfit("has " + session.Quote(name) + " more than once")
		}
		if len(v.members) == maxNames {
			return Value{}, unfit(fmt.Sprintf("has an object with more than %d names", maxNames))
		}
		member, err := decodeValue(d, depth)
		if err != nil {
			return Value{}, err
		}
		v.members = append(v.members, param{name, member})
	}
	_, err := d.Token()
	return v, err
}

func decodeArray(d *json.Decoder, depth int) (Value, error) {
	v := Value{kind: kindArray}
	for d.More() {
		item, err := decodeValue(d, depth)
		if err != nil {
			return Value{}, err
		}
		v.items = append(v.items, item)
	}
	_, err := d.Token()
	return v, err
}
