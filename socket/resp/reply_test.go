package resp

import (
	"bufio"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
)

func TestWriter(t *testing.T) {
	for name, test := range map[string]struct {
		write        func(w *Writer)
		resp2, resp3 string
	}{
		"simple":       {func(w *Writer) { w.Simple("OK") }, "+OK\r\n", "+OK\r\n"},
		"error":        {func(w *Writer) { w.Error("LOST it") }, "-LOST it\r\n", "-LOST it\r\n"},
		"line breaks":  {func(w *Writer) { w.Error("a\r\n+OK\n") }, "-a  +OK \r\n", "-a  +OK \r\n"},
		"integer":      {func(w *Writer) { w.Int(-42) }, ":-42\r\n", ":-42\r\n"},
		"string":       {func(w *Writer) { w.Bulk("a\r\nb") }, "$4\r\na\r\nb\r\n", "$4\r\na\r\nb\r\n"},
		"empty string": {func(w *Writer) { w.Bulk("") }, "$0\r\n\r\n", "$0\r\n\r\n"},
		"null":         {func(w *Writer) { w.Null() }, "$-1\r\n", "_\r\n"},
		"true":         {func(w *Writer) { w.Bool(true) }, ":1\r\n", "#t\r\n"},
		"false":        {func(w *Writer) { w.Bool(false) }, ":0\r\n", "#f\r\n"},
		"array":        {func(w *Writer) { w.Array(3) }, "*3\r\n", "*3\r\n"},
		"map":          {func(w *Writer) { w.Map(3) }, "*6\r\n", "%3\r\n"},
		"push":         {func(w *Writer) { w.Push(3) }, "*3\r\n", ">3\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			w2, w3 := Writer{}, Writer{RESP3: true}
			test.write(&w2)
			test.write(&w3)
			if got := string(w2.Bytes()); got != test.resp2 {
				t.Errorf("RESP2 = %q, want %q", got, test.resp2)
			}
			if got := string(w3.Bytes()); got != test.resp3 {
				t.Errorf("RESP3 = %q, want %q", got, test.resp3)
			}
			w2.Reset()
			if len(w2.Bytes()) != 0 {
				t.Errorf("after Reset there is %q", w2.Bytes())
			}
		})
	}
}

func TestReadReply(t *testing.T) {
	for in, want := range map[string]any{
		"+OK\r\n":                        "OK",
		"-LOST it\r\n":                   Error("LOST it"),
		":-42\r\n":                       int64(-42),
		"$4\r\na\r\nb\r\n":               "a\r\nb",
		"$-1\r\n":                        nil,
		"*-1\r\n":                        nil,
		"_\r\n":                          nil,
		"#t\r\n":                         true,
		"#f\r\n":                         false,
		",1.5\r\n":                       1.5,
		"(123\r\n":                       "123",
		"=7\r\ntxt:abc\r\n":              "abc",
		"!4\r\nLOST\r\n":                 Error("LOST"),
		"*2\r\n:1\r\n*1\r\n$1\r\na\r\n":  []any{int64(1), []any{"a"}},
		"~1\r\n:1\r\n":                   []any{int64(1)},
		"%1\r\n+a\r\n*0\r\n":             map[string]any{"a": []any{}},
		">2\r\n+lockgw\r\n+lost\r\n":     Push{"lockgw", "lost"},
		"%1\r\n:1\r\n%1\r\n+b\r\n_\r\n,": map[string]any{"1": map[string]any{"b": nil}},
	} {
		got, err := ReadReply(bufio.NewReader(strings.NewReader(in)))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q = %#v, err %v, want %#v", in, got, err, want)
		}
	}
}

func TestReadBadReply(t *testing.T) {
	deep := strings.Repeat("*1\r\n", 100_000)
	for in, want := range map[string]error{
		"":                          io.EOF,
		"+OK":                       io.ErrUnexpectedEOF,
		"$4\r\nab":                  io.ErrUnexpectedEOF,
		"*2\r\n:1\r\n":              io.ErrUnexpectedEOF,
		"%1\r\n:1\r\n":              io.ErrUnexpectedEOF,
		"\r\n":                      ProtocolError("no reply"),
		"x\r\n":                     ProtocolError(`reply "x": unknown type`),
		"$99999999999\r\n":          ProtocolError(`reply of length "99999999999"`),
		"*99999999\r\n":             ProtocolError(`reply of length "99999999"`),
		"$x\r\n":                    ProtocolError(`reply of length "x"`),
		"%-2\r\n":                   ProtocolError(`reply of length "-2"`),
		deep:                        ProtocolError("no reply"),
		":12x\r\n":                  ProtocolError(`reply ":12x": strconv.ParseInt: parsing "12x": invalid syntax`),
		"%67108864\r\n+a\r\n+b\r\n": io.ErrUnexpectedEOF,
	} {
		got, err := ReadReply(bufio.NewReader(strings.NewReader(in)))
		if got != nil || !errors.Is(err, want) {
			t.Errorf("%.40q = %v, err %v, want %v", in, got, err, want)
		}
	}
}

// The memory of a long reply is not kept by a connection that may be idle from then on.
func TestLongReplyIsForgotten(t *testing.T) {
	var w Writer
	w.Bulk(strings.Repeat("x", 1<<20))
	w.Reset()
	if got := cap(w.Bytes()); got > keptReply {
		t.Errorf("%d bytes are kept after a long reply, want at most %d", got, keptReply)
	}
	w.Bulk("x")
	kept := &w.Bytes()[0]
	if w.Reset(); &append(w.Bytes(), 0)[0] != kept {
		t.Error("the memory of a short reply is not used again")
	}
}
