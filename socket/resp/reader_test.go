package resp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
)

// readAll returns the requests of a stream and the error that ended it, nil at its
// end. left: the stream ends in the middle of a request.
func readAll(src io.Reader) (all [][]string, left bool, err error) {
	r := NewReader(src)
	for {
		args, ok, err := r.Next()
		switch {
		case err != nil:
			return all, false, err
		case ok:
			all = append(all, args)
			continue
		}
		if err := r.Fill(); err != nil {
			return all, r.Partial(), nil
		}
	}
}

var requests = map[string]struct {
	in   string
	want [][]string
}{
	"array":             {"*2\r\n$4\r\nLOCK\r\n$1\r\na\r\n", [][]string{{"LOCK", "a"}}},
	"pipeline":          {"*1\r\n$4\r\nPING\r\nPING\r\n*1\r\n$4\r\nPING\r\n", [][]string{{"PING"}, {"PING"}, {"PING"}}},
	"empty argument":    {"*2\r\n$0\r\n\r\n$1\r\na\r\n", [][]string{{"", "a"}}},
	"any bytes":         {"*1\r\n$6\r\n\r\n\x00$\xff\n\r\n", [][]string{{"\r\n\x00$\xff\n"}}},
	"nothing":           {"", nil},
	"empty array":       {"*0\r\nPING\n", [][]string{nil, {"PING"}}},
	"null array":        {"*-1\r\nPING\n", [][]string{nil, {"PING"}}},
	"inline":            {"LOCK a WAIT 5\r\n", [][]string{{"LOCK", "a", "WAIT", "5"}}},
	"inline LF":         {"LOCK a\nUNLOCK a\n", [][]string{{"LOCK", "a"}, {"UNLOCK", "a"}}},
	"inline blanks":     {" \t LOCK \t a \r\n", [][]string{{"LOCK", "a"}}},
	"empty lines":       {"\r\n\n \nPING\n", [][]string{nil, nil, nil, {"PING"}}},
	"inline UTF-8":      {"LOCK größe\n", [][]string{{"LOCK", "größe"}}},
	"double quotes":     {`NOTE "a \"b\" \\ \x41\n" ""` + "\n", [][]string{{"NOTE", "a \"b\" \\ A\n", ""}}},
	"odd escapes":       {`NOTE "\q\xZZ\t\r\b\a"` + "\n", [][]string{{"NOTE", "qxZZ\t\r\b\a"}}},
	"single quotes":     {`NOTE 'it\'s "so" \n'` + "\n", [][]string{{"NOTE", `it's "so" \n`}}},
	"most arguments":    {many(MaxArgs), [][]string{strings.Fields(strings.Repeat("a ", MaxArgs))}},
	"longest argument":  {bulkOf(MaxRequest - 4 - 8 - 2), [][]string{{strings.Repeat("x", MaxRequest-14)}}},
	"longest line":      {strings.Repeat("x", MaxRequest-1) + "\n", [][]string{{strings.Repeat("x", MaxRequest-1)}}},
	"a line of a *":     {"PING *\n", [][]string{{"PING", "*"}}},
	"other RESP inline": {"$5\r\n:1\r\n+x\r\n", [][]string{{"$5"}, {":1"}, {"+x"}}},
}

func many(n int) string {
	return fmt.Sprintf("*%d\r\n", n) + strings.Repeat("$1\r\na\r\n", n)
}

func bulkOf(n int) string {
	return fmt.Sprintf("*1\r\n$%d\r\n%s\r\n", n, strings.Repeat("x", n))
}

func TestRequests(t *testing.T) {
	for name, test := range requests {
		t.Run(name, func(t *testing.T) {
			got, left, err := readAll(strings.NewReader(test.in))
			if err != nil || left || !reflect.DeepEqual(got, test.want) {
				t.Errorf("%.80q = %.200q, left %v, err %v, want %.200q", test.in, got, left, err, test.want)
			}
		})
	}
}

// Whatever the kernel hands over at a time, the requests are the same.
func TestRequestsSplit(t *testing.T) {
	for name, test := range requests {
		if len(test.in) > 1000 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			for at := range len(test.in) {
				got, left, err := readAll(io.MultiReader(strings.NewReader(test.in[:at]), strings.NewReader(test.in[at:])))
				if err != nil || left || !reflect.DeepEqual(got, test.want) {
					t.Errorf("split at %d: %q, left %v, err %v, want %q", at, got, left, err, test.want)
				}
			}
			got, _, err := readAll(iotest.OneByteReader(strings.NewReader(test.in)))
			if err != nil || !reflect.DeepEqual(got, test.want) {
				t.Errorf("byte by byte: %q, err %v, want %q", got, err, test.want)
			}
		})
	}
}

var badRequests = map[string]struct{ in, want string }{
	"2^31 arguments":        {"*2147483647\r\n", "invalid multibulk length: the limit is 64 arguments"},
	"65 arguments":          {"*65\r\n", "invalid multibulk length: the limit is 64 arguments"},
	"minus two arguments":   {"*-2\r\n", "invalid multibulk length"},
	"no number":             {"*abc\r\n", "invalid multibulk length"},
	"no digits":             {"*\r\n", "invalid multibulk length"},
	"blank after":           {"*1 \r\n", "invalid multibulk length"},
	"plus":                  {"*+1\r\n", "invalid multibulk length"},
	"leading zero":          {"*01\r\n", "invalid multibulk length"},
	"blank before":          {"* 1\r\n", "invalid multibulk length"},
	"minus zero":            {"*-0\r\n", "invalid multibulk length"},
	"LF only":               {"*1\n$4\nPING\n", "invalid multibulk length"},
	"CR only":               {"*1\r$4\r\n", "invalid multibulk length"},
	"endless zeros":         {"*" + strings.Repeat("0", 100), "invalid multibulk length"},
	"null argument":         {"*1\r\n$-1\r\n", "invalid bulk length"},
	"length minus two":      {"*1\r\n$-2\r\n", "invalid bulk length"},
	"length abc":            {"*1\r\n$abc\r\n", "invalid bulk length"},
	"length 64 KiB and one": {"*1\r\n$65537\r\n", "invalid bulk length: the limit of a request is 65536 bytes"},
	"length 512 MiB":        {"*1\r\n$536870912\r\n", "invalid bulk length: the limit of a request is 65536 bytes"},
	"length 2^63":           {"*1\r\n$9223372036854775808\r\n", "invalid bulk length: the limit of a request is 65536 bytes"},
	"length LF only":        {"*1\r\n$4\nPING\r\n", "invalid bulk length"},
	"integer argument":      {"*1\r\n:1\r\n", "expected '$', got ':'"},
	"simple argument":       {"*1\r\n+x\r\n", "expected '$', got '+'"},
	"map argument":          {"*1\r\n%1\r\n", "expected '$', got '%'"},
	"set argument":          {"*1\r\n~1\r\n", "expected '$', got '~'"},
	"null of RESP3":         {"*1\r\n_\r\n", "expected '$', got '_'"},
	"boolean":               {"*1\r\n#t\r\n", "expected '$', got '#'"},
	"nested array":          {"*1\r\n*1\r\n", "expected '$', got '*'"},
	"escape":                {"*1\r\n\x1b[2J", "expected '$', got byte 0x1b"},
	"length too short":      {"*1\r\n$2\r\nPING\r\n", "bulk string without CRLF at its end"},
	"end swapped":           {"*1\r\n$4\r\nPING\n\r", "bulk string without CRLF at its end"},
	"end LF":                {"*1\r\n$4\r\nPING\n*1", "bulk string without CRLF at its end"},
	"end CR junk":           {"*1\r\n$4\r\nPING\rx", "bulk string without CRLF at its end"},
	"all too long":          {"*2\r\n$40000\r\n" + strings.Repeat("x", 40000) + "\r\n$40000\r\n", "invalid bulk length: the limit of a request is 65536 bytes"},
	"line too long":         {strings.Repeat("x", MaxRequest) + "\n", "too big inline request: the limit is 65536 bytes"},
	"line without end":      {strings.Repeat("x", MaxRequest), "too big inline request: the limit is 65536 bytes"},
	"65 words":              {strings.Repeat("a ", MaxArgs+1) + "\n", "too many arguments: the limit is 64"},
	"TLS":                   {"\x16\x03\x01\x02\x00\x01", "expected a command, got byte 0x16"},
	"NUL in a line":         {"PING \x00\n", "expected a command, got byte 0x00"},
	"CR in a line":          {"PING\rPING\n", "expected a command, got byte 0x0d"},
	"DEL in a line":         {"PING \x7f", "expected a command, got byte 0x7f"},
	"open double quote":     {"NOTE \"a\n", "unbalanced quotes in request"},
	"open single quote":     {"NOTE 'a\n", "unbalanced quotes in request"},
	"text after a quote":    {"NOTE \"a\"b\n", "unbalanced quotes in request"},
	"quote in a word":       {"LOCK it's\n", "unbalanced quotes in request"},
	"backslash at the end":  {"NOTE \"a\\\n", "unbalanced quotes in request"},
	"request after bad":     {"*x\r\n*1\r\n$4\r\nPING\r\n", "invalid multibulk length"},
}

func TestBadRequests(t *testing.T) {
	for name, test := range badRequests {
		t.Run(name, func(t *testing.T) {
			for how, src := range map[string]io.Reader{
				"at once": strings.NewReader(test.in), "byte by byte": iotest.OneByteReader(strings.NewReader(test.in)),
			} {
				got, _, err := readAll(src)
				var bad ProtocolError
				if !errors.As(err, &bad) || string(bad) != test.want || got != nil {
					t.Errorf("%s: %.80q = %.80q, err %v, want %q", how, test.in, got, err, test.want)
				}
			}
		})
	}
}

func TestHTTP(t *testing.T) {
	for _, in := range []string{
		"GET / HTTP/1.1\r\n", "PUT /v1/locks/a?wait=3 HTTP/1.1\r\n", "OPTIONS * HTTP/1.1\r\n", "GET http://a/ HTTP/1.1\r\n",
		"CONNECT a:80 HTTP/1.1\r\n", "POST / x\r\n", "Host: localhost\r\n",
	} {
		if got, _, err := readAll(strings.NewReader(in)); !errors.Is(err, ErrHTTP) || got != nil {
			t.Errorf("%q = %q, err %v, want %v", in, got, err, ErrHTTP)
		}
	}
}

// A command may end with a word that begins like the version of HTTP: the name of a lock, or a note.
func TestNoHTTP(t *testing.T) {
	for in, want := range map[string][]string{
		"LOCK HTTP/proxy\r\n":                {"LOCK", "HTTP/proxy"},
		"LOCKS PREFIX HTTP/\r\n":             {"LOCKS", "PREFIX", "HTTP/"},
		"LOCK a/b NOTE \"HTTP/2 is on\"\r\n": {"LOCK", "a/b", "NOTE", "HTTP/2 is on"},
	} {
		if got, _, err := readAll(strings.NewReader(in)); err != nil || !reflect.DeepEqual(got, [][]string{want}) {
			t.Errorf("%q = %q, err %v, want %q", in, got, err, want)
		}
	}
}

// A length costs the sender nothing and must cost the gateway nothing either.
func TestMemory(t *testing.T) {
	for _, in := range []string{"*1\r\n$65000\r\n", "*64\r\n", strings.Repeat("x", 100)} {
		r := NewReader(strings.NewReader(in))
		for r.Fill() == nil {
			if _, ok, err := r.Next(); ok || err != nil {
				t.Fatalf("%.20q: ok %v, err %v, want neither", in, ok, err)
			}
		}
		if len(r.buf) > smallBuffer {
			t.Errorf("%.20q takes a buffer of %d bytes, want %d", in, len(r.buf), smallBuffer)
		}
	}
	r := NewReader(strings.NewReader(bulkOf(60_000) + "PING\n"))
	for {
		args, ok, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if ok && args[0] == "PING" {
			break
		}
		if !ok {
			if err := r.Fill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if r.Fill(); len(r.buf) > keptBuffer {
		t.Errorf("after a long request a buffer of %d bytes is kept, want at most %d", len(r.buf), keptBuffer)
	}
}

// A client that sends more than a command at once is read with fewer reads, one that does not
// has a small buffer.
func TestBufferFollowsTheClient(t *testing.T) {
	const lock = "*2\r\n$4\r\nLOCK\r\n$40\r\n0123456789012345678901234567890123456789\r\n"
	for what, tt := range map[string]struct {
		src  io.Reader
		want int
	}{
		"many at once": {strings.NewReader(strings.Repeat(lock, 400)), keptBuffer},
		"one by one":   {iotest.OneByteReader(strings.NewReader(strings.Repeat(lock, 400))), smallBuffer},
	} {
		r := NewReader(tt.src)
		for n := 0; n < 400; {
			args, _, err := r.Next()
			if len(args) > 0 {
				n++
			} else if err == nil {
				err = r.Fill()
			}
			if err != nil {
				t.Fatalf("%s: after %d requests: %v", what, n, err)
			}
		}
		if len(r.buf) != tt.want {
			t.Errorf("%s: a buffer of %d bytes, want %d", what, len(r.buf), tt.want)
		}
	}
}

// Arguments stay what they were when the buffer is used again.
func TestArgumentsAreKept(t *testing.T) {
	got, _, err := readAll(strings.NewReader(strings.Repeat("*1\r\n$4\r\nPING\r\n*1\r\n$4\r\nECHO\r\n", 200)))
	if err != nil || len(got) != 400 {
		t.Fatalf("%d requests, err %v, want 400", len(got), err)
	}
	for i, want := range []string{"PING", "ECHO"} {
		if got[i][0] != want {
			t.Errorf("request %d = %q, want %q", i, got[i], want)
		}
	}
}

func FuzzReader(f *testing.F) {
	for _, test := range requests {
		if len(test.in) < 1000 { // long ones keep the fuzzer busy with making them short
			f.Add([]byte(test.in), 3)
		}
	}
	for _, test := range badRequests {
		if len(test.in) < 1000 {
			f.Add([]byte(test.in), 5)
		}
	}
	f.Fuzz(func(t *testing.T, in []byte, at int) {
		whole, left, err := readAll(bytes.NewReader(in))
		for _, args := range whole {
			if len(args) > MaxArgs {
				t.Errorf("%d arguments, the limit is %d", len(args), MaxArgs)
			}
			checkRoundTrip(t, args)
		}
		at = min(max(at, 0), len(in))
		got, gotLeft, gotErr := readAll(io.MultiReader(bytes.NewReader(in[:at]), bytes.NewReader(in[at:])))
		if !reflect.DeepEqual(got, whole) || gotLeft != left || !sameError(gotErr, err) {
			t.Errorf("split at %d: %q, %v, %v; as a whole: %q, %v, %v", at, got, gotLeft, gotErr, whole, left, err)
		}
	})
}

func sameError(a, b error) bool {
	return a == nil && b == nil || a != nil && b != nil && a.Error() == b.Error()
}

// checkRoundTrip: what was understood says the same when it is written again.
func checkRoundTrip(t *testing.T, args []string) {
	var w Writer
	w.Array(len(args))
	for _, a := range args {
		w.Bulk(a)
	}
	if len(w.Bytes()) > MaxRequest || len(args) == 0 {
		return
	}
	got, _, err := readAll(bytes.NewReader(w.Bytes()))
	if err != nil || len(got) != 1 || !reflect.DeepEqual(got[0], args) {
		t.Errorf("%q written and read is %q, err %v", args, got, err)
	}
}

func BenchmarkReader(b *testing.B) {
	request := "*4\r\n$4\r\nLOCK\r\n$7\r\nnightly\r\n$4\r\nWAIT\r\n$2\r\n30\r\n"
	r := NewReader(&endless{text: request})
	b.ReportAllocs()
	for b.Loop() {
		if _, ok, err := r.Next(); err != nil {
			b.Fatal(err)
		} else if !ok {
			r.Fill()
		}
	}
}

type endless struct{ text string }

func (e *endless) Read(p []byte) (int, error) { return copy(p, e.text), nil }
