package resplimit

import (
	"bytes"
	"io"
	"net"
	"strings"
	"testing"
	"testing/iotest"
)

// stream is a connection from which one can only read.
type stream struct {
	net.Conn
	io.Reader
}

func (s stream) Read(p []byte) (int, error) { return s.Reader.Read(p) }

func TestRepliesPass(t *testing.T) {
	many := strings.Repeat("*3\r\n$3\r\na\r\n\r\n*-1\r\n*0\r\n", 1000) // more in all than one reply may have
	replies := "+OK\r\n-ERR no\r\n:-12\r\n$-1\r\n$0\r\n\r\n$5\r\na\nb*1\r\n*0\r\n*-1\r\n" +
		"*2\r\n*2\r\n:1\r\n*1\r\n$1\r\nx\r\n$2\r\nok\r\n" +
		"%2\r\n+a\r\n_\r\n+b\r\n~2\r\n#t\r\n,1.5\r\n|1\r\n+ttl\r\n:1\r\n=7\r\ntxt:abc\r\n>2\r\n+m\r\n(12\r\n|0\r\n!5\r\nERR x\r\n" +
		"$65536\r\n" + strings.Repeat("z", 65536) + "\r\n" + strings.Repeat(many, 300) +
		"*1048576\r\n" + strings.Repeat(":1\r\n", 1<<20) + "+OK\r\n"
	for name, r := range map[string]io.Reader{
		"at once": strings.NewReader(replies), "in halves": iotest.HalfReader(strings.NewReader(replies)),
		"by bytes": iotest.OneByteReader(strings.NewReader(replies[:70000])),
	} {
		c := Conn(stream{Reader: r})
		got, err := io.ReadAll(c)
		if err != nil || !strings.HasPrefix(replies, string(got)) || len(got) < 70000 {
			t.Errorf("%s: %d bytes, %v, want all", name, len(got), err)
		}
		if l := c.(*limited); name != "by bytes" && (l.elements != 0 || l.bytes != 0 || len(l.left) != 0 || l.kind != 0) {
			t.Errorf("%s: after the last reply: %+v, want nothing left of it", name, l)
		}
	}
}

func TestHugeRepliesAreRefused(t *testing.T) {
	for name, tt := range map[string]struct{ replies, want string }{
		"array":                 {"*2147483647\r\n", "elements"},
		"array of arrays":       {strings.Repeat("*1000000\r\n", 2), "elements"},
		"many small arrays":     {"*1048575\r\n" + strings.Repeat("*1\r\n:1\r\n", 2), "elements"},
		"string":                {"$536870912\r\n", "bytes"},
		"strings":               {"*2\r\n$16000000\r\n" + strings.Repeat("x", 16000000) + "\r\n$16000000\r\n", "bytes"},
		"depth":                 {strings.Repeat("*1\r\n", 1000), "levels"},
		"line":                  {"+" + strings.Repeat("x", 1<<20), "line"},
		"lines":                 {"*1000\r\n" + strings.Repeat("+"+strings.Repeat("x", 60000)+"\r\n", 1000), "bytes"},
		"number":                {"*" + strings.Repeat("9", 40) + "\r\n", "digits"},
		"no number":             {"$x\r\n", "length"},
		"beyond an int":         {"*9223372036854775808\r\n", "length"},
		"map":                   {"%1048577\r\n", "elements"},
		"verbatim":              {"=536870912\r\n", "bytes"},
		"something else":        {"HTTP/1.1 400 Bad Request\r\n", "none of Redis"},
		"after a proper reply":  {"+OK\r\n*2147483647\r\n", "elements"},
		"after an attribute":    {"|1\r\n+a\r\n:1\r\n*2147483647\r\n", "elements"},
		"attributes for ever":   {strings.Repeat("|1\r\n+a\r\n:1\r\n", 1000), "levels"},
		"after the end of many": {"*2\r\n:1\r\n:2\r\n$999999999\r\n", "bytes"},
	} {
		for how, r := range map[string]io.Reader{
			"at once": strings.NewReader(tt.replies), "in halves": iotest.HalfReader(bytes.NewReader([]byte(tt.replies))),
		} {
			c := Conn(stream{Reader: r})
			got, err := io.ReadAll(c)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s, %s: %d bytes, %v, want an error about %s", name, how, len(got), err, tt.want)
			}
			if n, again := c.Read(make([]byte, 1)); n != 0 || again == nil {
				t.Errorf("%s, %s: %d bytes, %v after the error, want none", name, how, n, again)
			}
		}
	}
}
