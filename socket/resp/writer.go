package resp

import (
	"strconv"
	"strings"
)

// Writer builds replies in memory. Where RESP2 lacks a type it writes what Redis
// writes: a map as a flat array, a push as an array, a boolean as 0 or 1. The
// zero value writes RESP2.
type Writer struct {
	RESP3 bool
	buf   []byte
}

// Bytes are what was written. They are valid until the next write.
func (w *Writer) Bytes() []byte { return w.buf }

// keptReply is the longest memory for a reply that is kept for the next one. A reply may
// be as long as a queue, and there are thousands of connections.
const keptReply = 16 << 10

// Reset forgets what was written.
func (w *Writer) Reset() {
	if cap(w.buf) > keptReply {
		w.buf = nil
		return
	}
	w.buf = w.buf[:0]
}

// Simple writes a simple string.
func (w *Writer) Simple(s string) { w.line('+', s) }

// Error writes an error, which should begin with its code.
func (w *Writer) Error(s string) { w.line('-', s) }

// Int writes an integer.
func (w *Writer) Int(n int64) { w.number(':', n) }

// Bulk writes a string.
func (w *Writer) Bulk(s string) {
	w.number('$', int64(len(s)))
	w.buf = append(w.buf, s...)
	w.buf = append(w.buf, '\r', '\n')
}

// Null writes the absence of a value.
func (w *Writer) Null() {
	if w.RESP3 {
		w.buf = append(w.buf, "_\r\n"...)
		return
	}
	w.buf = append(w.buf, "$-1\r\n"...)
}

// Bool writes a boolean.
func (w *Writer) Bool(b bool) {
	switch {
	case !w.RESP3 && b:
		w.Int(1)
	case !w.RESP3:
		w.Int(0)
	case b:
		w.buf = append(w.buf, "#t\r\n"...)
	default:
		w.buf = append(w.buf, "#f\r\n"...)
	}
}

// Array begins an array of n values.
func (w *Writer) Array(n int) { w.number('*', int64(n)) }

// Map begins a map of n pairs.
func (w *Writer) Map(n int) {
	if w.RESP3 {
		w.number('%', int64(n))
		return
	}
	w.Array(2 * n)
}

// Push begins a message of n values that answers no request.
func (w *Writer) Push(n int) {
	if w.RESP3 {
		w.number('>', int64(n))
		return
	}
	w.Array(n)
}

func (w *Writer) number(kind byte, n int64) {
	w.buf = append(w.buf, kind)
	w.buf = strconv.AppendInt(w.buf, n, 10)
	w.buf = append(w.buf, '\r', '\n')
}

// line writes a reply of one line. A line break in s would begin another reply, so it
// becomes a blank.
func (w *Writer) line(kind byte, s string) {
	if strings.ContainsAny(s, "\r\n") {
		s = strings.NewReplacer("\r", " ", "\n", " ").Replace(s)
	}
	w.buf = append(w.buf, kind)
	w.buf = append(w.buf, s...)
	w.buf = append(w.buf, '\r', '\n')
}
