package resp

import (
	"bytes"
	"strings"
)

// inline reads a command as people type it: words on a line. size is 0 while
// the end of the line is missing.
func (r *Reader) inline(b []byte) (args []string, size int, err error) {
	end := bytes.IndexByte(b[r.seen:], '\n')
	part := b[r.seen:]
	if end >= 0 {
		part = part[:end]
	}
	// The bytes are checked as they arrive: a client that speaks another protocol may
	// never end the line.
	if err := printable(part); err != nil {
		return nil, 0, err
	}
	if r.seen+len(part) >= MaxRequest {
		return nil, 0, errInline
	}
	if end < 0 {
		r.seen = max(len(b)-1, 0) // the last byte again: it may be the CR of a CRLF
		return nil, 0, nil
	}
	size = r.seen + end + 1
	args, err = split(strings.TrimSuffix(string(b[:size-1]), "\r"))
	return args, size, err
}

// printable refuses control characters but for the tab, and a CR at the end.
func printable(b []byte) error {
	for i, c := range b {
		if c >= ' ' && c != 0x7f || c == '\t' || c == '\r' && i == len(b)-1 {
			continue
		}
		return ProtocolError("expected a command, got " + show(c))
	}
	return nil
}

// split cuts a line into words. Words in quotes may have blanks in them, and in
// double quotes the escapes of redis-cli.
func split(line string) (args []string, err error) {
	for {
		line = strings.TrimLeft(line, " \t")
		if line == "" {
			return args, notHTTP(args)
		}
		if len(args) == MaxArgs {
			return nil, errWords
		}
		word, rest, ok := cutWord(line)
		if !ok {
			return nil, ProtocolError("unbalanced quotes in request")
		}
		args, line = append(args, word), rest
	}
}

// notHTTP refuses a request line, or one of the headers after it. What only ends like a request
// line, such as LOCK a NOTE HTTP/2, is a command.
func notHTTP(args []string) error {
	if len(args) == 0 {
		return nil
	}
	line := len(args) == 3 && strings.HasPrefix(args[2], "HTTP/") && target(args[1])
	if line || strings.EqualFold(args[0], "POST") || strings.EqualFold(args[0], "Host:") {
		return ErrHTTP
	}
	return nil
}

// target tells whether s is what a request may be for: a path, a URL, or a host and port.
func target(s string) bool { return s == "*" || strings.ContainsAny(s, "/:") }

func cutWord(line string) (word, rest string, ok bool) {
	switch line[0] {
	case '"', '\'':
		return cutQuoted(line[1:], line[0])
	}
	end := strings.IndexAny(line, " \t")
	if end < 0 {
		end = len(line)
	}
	// A quote inside of a word begins something that ends elsewhere; guessing
	// where would change what is asked.
	if strings.ContainsAny(line[:end], `"'`) {
		return "", "", false
	}
	return line[:end], line[end:], true
}

// cutQuoted: s begins after the opening quote; after the closing one the word
// has to end.
func cutQuoted(s string, quote byte) (word, rest string, ok bool) {
	var w strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == quote:
			rest = s[i+1:]
			return w.String(), rest, rest == "" || rest[0] == ' ' || rest[0] == '\t'
		case c == '\\' && i+1 < len(s):
			b, n := unescape(s[i+1:], quote)
			w.WriteByte(b)
			i += n
		default:
			w.WriteByte(c)
		}
	}
	return "", "", false
}

// unescape reads what follows a backslash: the byte meant and how many were read.
func unescape(s string, quote byte) (c byte, n int) {
	if quote == '\'' {
		if s[0] == '\'' {
			return '\'', 1
		}
		return '\\', 0
	}
	if s[0] == 'x' && len(s) >= 3 && isHex(s[1]) && isHex(s[2]) {
		return hex(s[1])<<4 | hex(s[2]), 3
	}
	if i := strings.IndexByte("nrtba", s[0]); i >= 0 {
		return "\n\r\t\b\a"[i], 1
	}
	return s[0], 1
}

func isHex(c byte) bool { return strings.IndexByte("0123456789abcdefABCDEF", c) >= 0 }

func hex(c byte) byte {
	switch {
	case c >= 'a':
		return c - 'a' + 10
	case c >= 'A':
		return c - 'A' + 10
	default:
		return c - '0'
	}
}
