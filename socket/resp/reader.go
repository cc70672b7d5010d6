// Package resp is the encoding of the Redis serialization protocol, versions 2
// and 3: requests as a server reads them, replies as it writes them and as a
// client reads them. What a request means is decided by who uses it.
//
// Format: https://redis.io/docs/latest/develop/reference/protocol-spec/
package resp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// Limits of a request. Nothing lockgw understands comes near them.
const (
	MaxRequest = 64 << 10 // bytes, framing included
	MaxArgs    = 64
)

const (
	// smallBuffer holds a command of usual length: connections have it while they wait.
	smallBuffer = 256
	// keptBuffer is how large it becomes for a client that sends more at once. A larger one
	// is given back when it is empty.
	keptBuffer = 4 << 10
)

// ProtocolError says why the bytes read are no request. Nothing after them can
// be understood.
type ProtocolError string

func (e ProtocolError) Error() string { return "Protocol error: " + string(e) }

// Those of a request beyond a limit: the words of Redis, with the limit.
var (
	errBytes  = ProtocolError(fmt.Sprintf("invalid bulk length: the limit of a request is %d bytes", MaxRequest))
	errArgs   = ProtocolError(fmt.Sprintf("invalid multibulk length: the limit is %d arguments", MaxArgs))
	errInline = ProtocolError(fmt.Sprintf("too big inline request: the limit is %d bytes", MaxRequest))
	errWords  = ProtocolError(fmt.Sprintf("too many arguments: the limit is %d", MaxArgs))
)

// ErrHTTP means that the client speaks HTTP. It should get no answer, because a browser
// could take that for an HTTP response.
var ErrHTTP = errors.New("an HTTP request")

// Reader reads requests from a stream: arrays of bulk strings, or inline lines.
// Only Fill reads from the stream.
type Reader struct {
	src  io.Reader
	buf  []byte
	r, w int // buf[r:w] was read and not yet returned
	seen int // bytes of an inline line that are known to contain no line end
}

// NewReader reads from src.
func NewReader(src io.Reader) *Reader {
	return &Reader{src: src, buf: make([]byte, smallBuffer)}
}

// Next returns the next request, and false when more of it has to be read by
// Fill. A request without arguments, which Redis ignores, is returned as such.
// The error is a ProtocolError or ErrHTTP, and is final.
func (r *Reader) Next() (args []string, ok bool, err error) {
	b := r.buf[r.r:r.w]
	if len(b) == 0 {
		return nil, false, nil
	}
	size := 0
	if b[0] == '*' {
		args, size, err = array(b)
	} else {
		args, size, err = r.inline(b)
	}
	if err != nil || size == 0 {
		return nil, false, err
	}
	r.r += size
	r.seen = 0
	return args, true, nil
}

// Partial tells whether a part of a request has been read.
func (r *Reader) Partial() bool { return r.r < r.w }

// Fill waits for more bytes. It returns the stream's error.
func (r *Reader) Fill() error {
	r.makeRoom()
	n, err := r.src.Read(r.buf[r.w:])
	r.w += n
	if n > 0 {
		return nil
	}
	return err
}

// makeRoom puts what is left to the beginning of a buffer with room behind it.
func (r *Reader) makeRoom() {
	rest, size := r.buf[r.r:r.w], len(r.buf)
	full := r.w == size
	switch {
	case len(rest) == 0 && size > keptBuffer:
		size = smallBuffer
	case full && size < keptBuffer, full && r.r == 0: // bounded by MaxRequest: Next has refused anything longer
		size *= 2
	case !full && len(rest) > 0:
		return
	}
	if size != len(r.buf) {
		r.buf = make([]byte, size)
	}
	r.r, r.w = 0, copy(r.buf, rest)
}

// array reads an array of bulk strings. size is 0 while some of it is missing.
func array(b []byte) (args []string, size int, err error) {
	var at [MaxArgs][2]int
	argc, pos, err := number(b[1:], MaxArgs)
	switch {
	case errors.Is(err, errLarge):
		return nil, 0, errArgs
	case err != nil:
		return nil, 0, ProtocolError("invalid multibulk length")
	}
	if pos == 0 {
		return nil, 0, nil
	}
	pos++
	for i := range max(argc, 0) {
		start, n, err := bulk(b, pos)
		if err != nil || start == 0 {
			return nil, 0, err
		}
		at[i] = [2]int{start, start + n}
		pos = start + n + 2
	}
	if argc <= 0 {
		return nil, pos, nil
	}
	// One copy for all arguments: what the buffer holds changes with the next Fill.
	s := string(b[:pos])
	args = make([]string, argc)
	for i := range args {
		args[i] = s[at[i][0]:at[i][1]]
	}
	return args, pos, nil
}

// bulk finds the bulk string at b[pos:]: its n bytes begin at start, which is 0
// while some of it is missing.
func bulk(b []byte, pos int) (start, n int, err error) {
	if pos == len(b) {
		return 0, 0, nil
	}
	if b[pos] != '$' {
		return 0, 0, ProtocolError(fmt.Sprintf("expected '$', got %s", show(b[pos])))
	}
	n, size, err := number(b[pos+1:], MaxRequest)
	switch {
	case errors.Is(err, errLarge):
		return 0, 0, errBytes
	case err != nil || n < 0:
		return 0, 0, ProtocolError("invalid bulk length")
	}
	if size == 0 {
		return 0, 0, nil
	}
	start = pos + 1 + size
	end := start + n
	switch {
	case end+2 > MaxRequest:
		return 0, 0, errBytes
	case len(b) > end && b[end] != '\r', len(b) > end+1 && b[end+1] != '\n':
		return 0, 0, ProtocolError("bulk string without CRLF at its end")
	case len(b) < end+2:
		return 0, 0, nil
	}
	return start, n, nil
}

// show is c as text. A control character is not shown as it is, because it could change
// the terminal of whoever reads the error.
func show(c byte) string {
	if c < ' ' || c > '~' {
		return fmt.Sprintf("byte 0x%02x", c)
	}
	return fmt.Sprintf("'%c'", c)
}

// Those of number.
var (
	errNumber = errors.New("no number")
	errLarge  = errors.New("a number above the limit")
)

// number reads a length, -1 to limit in its shortest form, and the CRLF after
// it. size is 0 while some of it is missing.
func number(b []byte, limit int) (n, size int, err error) {
	const none = "-1\r\n"
	if bytes.HasPrefix(b, []byte(none)) {
		return -1, len(none), nil
	}
	if bytes.HasPrefix([]byte(none), b) {
		return 0, 0, nil
	}
	for i, c := range b {
		switch {
		case c >= '0' && c <= '9' && (i == 0 || n > 0):
			if n = n*10 + int(c-'0'); n > limit {
				return 0, 0, errLarge
			}
		case c != '\r' || i == 0 || i+1 < len(b) && b[i+1] != '\n':
			return 0, 0, errNumber
		case i+1 == len(b):
			return 0, 0, nil
		default:
			return n, i + 2, nil
		}
	}
	return 0, 0, nil
}
