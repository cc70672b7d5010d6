package session

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxName is the longest lock name, in bytes.
const MaxName = 255

// CheckName says why name cannot be a lock name, or nil. Names are compared byte
// by byte; no Unicode normalisation takes place. What cannot be seen, or has the text
// around it shown in another order, is refused: two names that look alike would be two
// locks.
func CheckName(name string) error {
	switch {
	case name == "":
		return Invalid("name", "must not be empty")
	case len(name) > MaxName:
		return Invalid("name", "is %d bytes long, the limit is %d", len(name), MaxName)
	case !utf8.ValidString(name):
		return Invalid("name", "is not valid UTF-8")
	case strings.HasPrefix(name, "lockgw:"), strings.HasPrefix(name, "redisson_"):
		return Invalid("name", "must not begin with lockgw: or redisson_, which the keys in Redis begin with")
	}
	for _, r := range name {
		if unicode.IsControl(r) || unicode.IsSpace(r) {
			return Invalid("name", "must not contain control characters or white space, but has %U", r)
		}
		if r > unicode.MaxASCII && unicode.In(r, unseen...) {
			return Invalid("name", "must not contain characters that cannot be seen or change the direction of the text, but has %U", r)
		}
	}
	if !oneTag(name) {
		return Invalid("name", "may contain braces only as one {tag} with something in it")
	}
	return nil
}

// CheckPrefix refuses what no name begins with. Every name begins with "".
func CheckPrefix(prefix string) error {
	if prefix == "" {
		return nil
	}
	switch _, tag, open := strings.Cut(prefix, "{"); {
	case open && tag == "":
		prefix += "x}"
	case open && !strings.Contains(tag, "}"):
		prefix += "}"
	}
	return CheckName(prefix)
}

// unseen are the characters that a text can be shown with and without and look the same:
// of zero width, marks of direction, fillers. None is of ASCII.
var unseen = []*unicode.RangeTable{
	unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector,
	{R16: []unicode.Range16{{Lo: 0x2800, Hi: 0x2800, Stride: 1}}}, // an empty cell of Braille
}

// oneTag: in Redis Cluster a tag decides the slot, and all keys of a lock have
// to lie in one.
func oneTag(name string) bool {
	open, end := strings.IndexByte(name, '{'), strings.IndexByte(name, '}')
	if open < 0 && end < 0 {
		return true
	}
	return open >= 0 && end > open+1 && strings.Count(name, "{") == 1 && strings.Count(name, "}") == 1
}
