// Package resplimit bounds what a Redis server can make its client allocate.
//
// A reply begins with how long it is, and the client library believes that: 13 bytes that
// announce two thousand million elements end the process. Whoever can answer in place of
// a server that is connected to without TLS can send them.
package resplimit

import (
	"bytes"
	"fmt"
	"net"
	"strconv"
	"strings"
)

// No reply to what lockgw asks comes near these.
const (
	maxElements = 1 << 20 // of one reply, nested ones included
	maxBytes    = 16 << 20
	maxLine     = 64 << 10
	maxDepth    = 32
	maxNumber   = 20 // digits of a length
)

// How a reply in RESP2 or RESP3 may begin. The client of Sentinels speaks the latter.
const (
	lines  = "+-:_,#("
	texts  = "$=!"   // then their length follows
	arrays = "*~>%|" // then the number of elements, or of pairs of them
)

// Conn is c as long as what is read from it are replies of a usual size. After that each
// Read fails.
func Conn(c net.Conn) net.Conn {
	return &limited{Conn: c}
}

// limited is a connection, and where in a reply its reader is.
type limited struct {
	net.Conn
	err error

	kind     byte   // of the line that is being read; 0: one begins
	line     int    // bytes of it
	number   []byte // in it, where it tells a length
	skip     int    // bytes of a string that is being read
	left     []int  // elements missing of each array that is being read
	elements int    // of this reply
	bytes    int    // of its strings and lines
}

// Read implements net.Conn.
func (l *limited) Read(p []byte) (int, error) {
	if l.err != nil {
		return 0, l.err
	}
	n, err := l.Conn.Read(p)
	if l.err = l.look(p[:n]); l.err != nil {
		return 0, l.err
	}
	return n, err
}

// look follows the replies through p, which may end anywhere.
func (l *limited) look(p []byte) error {
	for len(p) > 0 {
		switch {
		case l.skip > 0:
			n := min(l.skip, len(p))
			p = p[n:]
			if l.skip -= n; l.skip == 0 {
				l.finish()
			}
		case l.kind == 0:
			l.kind, p = p[0], p[1:]
			if !strings.ContainsRune(lines+texts+arrays, rune(l.kind)) {
				return fmt.Errorf("redis: a reply begins with %q, as none of Redis does; is this a Redis server?", l.kind)
			}
		default:
			part, rest, ended := bytes.Cut(p, []byte{'\n'})
			p = rest
			if err := l.lengthen(part); err != nil {
				return err
			}
			if !ended {
				continue
			}
			if err := l.endLine(); err != nil {
				return err
			}
		}
	}
	return nil
}

// lengthen takes a part of the line.
func (l *limited) lengthen(part []byte) error {
	if l.line += len(part); l.line > maxLine {
		return tooLong("a line", maxLine, "bytes")
	}
	if is(l.kind, lines) {
		return nil
	}
	if len(l.number)+len(part) > maxNumber {
		return fmt.Errorf("redis: a reply has a length of more than %d digits; is this a Redis server?", maxNumber)
	}
	l.number = append(l.number, part...)
	return nil
}

// endLine takes the end of the line.
func (l *limited) endLine() error {
	kind, number := l.kind, string(bytes.TrimSuffix(l.number, []byte{'\r'}))
	l.bytes += l.line
	l.kind, l.line, l.number = 0, 0, l.number[:0]
	n := 0
	if !is(kind, lines) {
		var err error
		if n, err = strconv.Atoi(number); err != nil {
			return fmt.Errorf("redis: a reply has the length %q; is this a Redis server?", number)
		}
	}
	switch {
	case l.bytes > maxBytes, is(kind, texts) && n > maxBytes-l.bytes:
		return tooLong("a reply", maxBytes, "bytes")
	case is(kind, arrays) && n > maxElements-l.elements:
		return tooLong("a reply", maxElements, "elements")
	case is(kind, arrays) && n > 0 && len(l.left) == maxDepth:
		return tooLong("a reply", maxDepth, "levels")
	case is(kind, texts) && n >= 0:
		l.bytes += n
		l.skip = n + len("\r\n")
	case is(kind, arrays) && n > 0:
		l.elements += n
		switch kind {
		case '%':
			n *= 2
		case '|':
			n = 2*n + 1 // the last one is the reply that it is about
		}
		l.left = append(l.left, n)
	case kind == '|': // it has nothing, and the reply follows
	default:
		l.finish()
	}
	return nil
}

func is(kind byte, kinds string) bool { return strings.IndexByte(kinds, kind) >= 0 }

// finish is called when an element is complete, and perhaps all that it is in.
func (l *limited) finish() {
	for i := len(l.left) - 1; i >= 0; i-- {
		if l.left[i]--; l.left[i] > 0 {
			return
		}
		l.left = l.left[:i]
	}
	l.elements, l.bytes = 0, 0
}

func tooLong(what string, most int, of string) error {
	return fmt.Errorf("redis: %s has more than %d %s, as no answer to lockgw has; is this a Redis server?", what, most, of)
}
