package resp

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Error is an error reply.
type Error string

func (e Error) Error() string { return string(e) }

// Push is a message that answers no request.
type Push []any

// Limits of a reply.
const (
	maxReply = 64 << 20 // bytes of one string, values of one collection
	maxDepth = 16
)

// ReadReply reads one reply: a string, int64, bool, float64, nil, Error, []any,
// map[string]any or Push. The error is the stream's, or a ProtocolError.
func ReadReply(r *bufio.Reader) (any, error) { return readReply(r, 0) }

func readReply(r *bufio.Reader, depth int) (any, error) {
	line, err := readLine(r)
	if err != nil {
		return nil, err
	}
	if line == "" || depth > maxDepth {
		return nil, ProtocolError("no reply")
	}
	switch kind, rest := line[0], line[1:]; kind {
	case '+':
		return rest, nil
	case '-':
		return Error(rest), nil
	case '$', '=', '!':
		return readString(r, kind, rest)
	case '*', '~', '%', '>':
		return readCollection(r, kind, rest, depth)
	default:
		return scalar(kind, rest)
	}
}

func scalar(kind byte, s string) (v any, err error) {
	switch kind {
	case ':':
		v, err = strconv.ParseInt(s, 10, 64)
	case ',':
		v, err = strconv.ParseFloat(s, 64)
	case '#':
		v = s == "t"
	case '_':
	case '(':
		v = s
	default:
		err = errors.New("unknown type")
	}
	if err != nil {
		return nil, ProtocolError(fmt.Sprintf("reply %q: %v", string(kind)+s, err))
	}
	return v, nil
}

func readString(r *bufio.Reader, kind byte, size string) (any, error) {
	n, err := length(size)
	if err != nil || n < 0 {
		return nil, err
	}
	b := make([]byte, n+2)
	if _, err := io.ReadFull(r, b); err != nil {
		return nil, noEOF(err)
	}
	switch s := string(b[:n]); kind {
	case '!':
		return Error(s), nil
	case '=':
		_, s, _ = strings.Cut(s, ":") // of a verbatim string: its format
		return s, nil
	default:
		return s, nil
	}
}

func readCollection(r *bufio.Reader, kind byte, size string, depth int) (any, error) {
	n, err := length(size)
	if err != nil || n < 0 {
		return nil, err
	}
	if kind == '%' {
		return readMap(r, n, depth)
	}
	items := []any{}
	for range n {
		item, err := readReply(r, depth+1)
		if err != nil {
			return nil, noEOF(err)
		}
		items = append(items, item)
	}
	if kind == '>' {
		return Push(items), nil
	}
	return items, nil
}

func readMap(r *bufio.Reader, n, depth int) (any, error) {
	m := map[string]any{}
	for range n {
		key, err := readReply(r, depth+1)
		if err != nil {
			return nil, noEOF(err)
		}
		value, err := readReply(r, depth+1)
		if err != nil {
			return nil, noEOF(err)
		}
		m[fmt.Sprint(key)] = value
	}
	return m, nil
}

// length is -1 for an absent value.
func length(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < -1 || n > maxReply {
		return 0, ProtocolError(fmt.Sprintf("reply of length %q", s))
	}
	return n, nil
}

func readLine(r *bufio.Reader) (string, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		if line != "" {
			err = noEOF(err)
		}
		return "", err
	}
	return strings.TrimSuffix(line[:len(line)-1], "\r"), nil
}

// noEOF is for an end of the stream in the middle of a reply.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
