// Package jsontext appends JSON as encoding/json writes it, byte for byte, for what is
// written with each lock: by hand that takes a fifth of the time, and far less stack, which the
// goroutine of a request would have to grow. Whoever uses it for a type has a test that
// compares the two.
package jsontext

import (
	"encoding/json"
	"strconv"
	"time"
)

// Text appends key and v, unless v is empty. A key stands as it is written: `,"name":`.
func Text(b []byte, key, v string) []byte {
	if v == "" {
		return b
	}
	return Quote(append(b, key...), v)
}

// Number appends key and v, unless v is 0.
func Number(b []byte, key string, v int64) []byte {
	if v == 0 {
		return b
	}
	return strconv.AppendInt(append(b, key...), v, 10)
}

// Unsigned appends key and v, unless v is 0.
func Unsigned(b []byte, key string, v uint64) []byte {
	if v == 0 {
		return b
	}
	return strconv.AppendUint(append(b, key...), v, 10)
}

// Flag appends key and true, unless v is false.
func Flag(b []byte, key string, v bool) []byte {
	if !v {
		return b
	}
	return append(append(b, key...), "true"...)
}

// Moment appends t.
func Moment(b []byte, t time.Time) []byte {
	b = t.AppendFormat(append(b, '"'), time.RFC3339Nano)
	return append(b, '"')
}

// Quote appends s in quotes.
func Quote(b []byte, s string) []byte {
	begin := len(b)
	b = append(b, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ', c > '~', c == '<', c == '>', c == '&':
			return Rare(b[:begin], s)
		case c == '"', c == '\\':
			b = append(b, '\\', c)
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}

// Rare appends v, of strings and numbers, by encoding/json itself.
func Rare(b []byte, v any) []byte {
	text, err := json.Marshal(v)
	if err != nil { // of strings and numbers it cannot be
		panic("jsontext: " + err.Error())
	}
	return append(b, text...)
}
