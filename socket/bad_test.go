package socket

import (
	"crypto/rand"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Bytes that are no command: an error line, or none, and the connection closed.
func TestNotRESP(t *testing.T) {
	random := make([]byte, 1<<20)
	rand.Read(random)
	random[0] = 0 // never '*'
	const bad = "-ERR Protocol error: "
	g := start(t, func(o *setup) { o.socket.Limits.Read = 500 * time.Millisecond })
	for name, test := range map[string]struct{ in, want string }{
		"P2 2^31 arguments":        {"*2147483647\r\n", bad + "invalid multibulk length: the limit is 64 arguments\r\n"},
		"P3 65 arguments":          {"*65\r\n", bad + "invalid multibulk length: the limit is 64 arguments\r\n"},
		"P4 no number":             {"*abc\r\n", bad + "invalid multibulk length\r\n"},
		"P5 512 MiB":               {"*2\r\n$4\r\nLOCK\r\n$536870912\r\n", bad + "invalid bulk length: the limit of a request is 65536 bytes\r\n"},
		"P6 integer argument":      {"*2\r\n$4\r\nLOCK\r\n:1\r\n", bad + "expected '$', got ':'\r\n"},
		"P7 nested":                {"*1\r\n*1\r\n$4\r\nLOCK\r\n", bad + "expected '$', got '*'\r\n"},
		"P8 bulk without end":      {"*2\r\n$4\r\nLOCK\r\n$1\r\na\n\r", bad + "bulk string without CRLF at its end\r\n"},
		"P9 LF only":               {"*2\n$4\nLOCK\n$1\na\n", bad + "invalid multibulk length\r\n"},
		"P10 endless header":       {"*1\r\n$" + strings.Repeat("1", 70_000), bad + "invalid bulk length: the limit of a request is 65536 bytes\r\n"},
		"P11 then silence":         {"*2\r\n$4\r\nLOCK\r\n$5\r\na", bad + "the command did not arrive as a whole within 500ms\r\n"},
		"P11 line without end":     {"LOCK a", bad + "the command did not arrive as a whole within 500ms\r\n"},
		"P12 length too short":     {"*2\r\n$4\r\nLOCK\r\n$1\r\nabc\r\n", bad + "bulk string without CRLF at its end\r\n"},
		"P15 HTTP":                 {"GET / HTTP/1.1\r\nHost: x\r\n\r\n", ""},
		"P15 HTTP with a body":     {"POST /LOCK HTTP/1.1\r\n\r\nLOCK a\r\n", ""},
		"P15 TLS":                  {"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", bad + "expected a command, got byte 0x16\r\n"},
		"P15 long line":            {strings.Repeat("LOCK a ", 20_000) + "\r\n", bad + "too big inline request: the limit is 65536 bytes\r\n"},
		"P41 random":               {string(random), bad + "expected a command, got byte 0x00\r\n"},
		"P42 2^31 digits":          {"*4\r\n$4\r\nLOCK\r\n$1\r\na\r\n$3\r\nTTL\r\n$2147483648\r\n", bad + "invalid bulk length: the limit of a request is 65536 bytes\r\n"},
		"P1 nothing but emptiness": {strings.Repeat("*0\r\n", 1000), bad + "more than 100 empty commands in a row\r\n"},
		"P1 empty lines":           {strings.Repeat("\n", 1000), bad + "more than 100 empty commands in a row\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			g := g.with(t)
			w := g.dial()
			go w.write(test.in) // the gateway may close before it has read all
			if got := w.rest(); got != test.want {
				t.Errorf("%.60q = %q, want %q and the end", test.in, got, test.want)
			}
			g.unchanged()
		})
	}
}

// Commands that cannot be done: an error reply, nothing changed, and the
// connection goes on.
func TestBadCommands(t *testing.T) {
	g := start(t)
	const long = "99999999999999999999"
	tests := map[string]struct {
		want string
		args []string
	}{
		"P16 no name":               {"ERR unknown command '', with args beginning with: ", []string{""}},
		"P17 unknown":               {"ERR unknown command 'EVAL', with args beginning with: 'x' '0' ", []string{"EVAL", "x", "0"}},
		"P18 no lock":               {"INVALID wrong number of arguments for 'lock' command", []string{"LOCK"}},
		"P18 no lock to unlock":     {"INVALID wrong number of arguments for 'unlock' command", []string{"unlock"}},
		"P18 too much for LOCKINFO": {"INVALID wrong number of arguments for 'lockinfo' command", []string{"LOCKINFO", "a", "b"}},
		"P18 no token":              {"INVALID wrong number of arguments for 'auth' command", []string{"AUTH"}},
		"P18 no subcommand":         {"INVALID wrong number of arguments for 'session' command", []string{"SESSION"}},
		"P18 SESSION ATTACH":        {"INVALID wrong number of arguments for 'session|attach' command", []string{"SESSION", "ATTACH"}},
		"P18 SESSION END x":         {"INVALID wrong number of arguments for 'session|end' command", []string{"SESSION", "END", "x"}},
		"P18 CLIENT ID x":           {"INVALID wrong number of arguments for 'client|id' command", []string{"CLIENT", "ID", "x"}},
		"CLIENT HELP x":             {"INVALID wrong number of arguments for 'client|help' command", []string{"CLIENT", "HELP", "x"}},
		"COMMAND HELP x":            {"INVALID wrong number of arguments for 'command|help' command", []string{"COMMAND", "HELP", "x"}},
		"P21 wrong token":           {"NOSESSION ", []string{"AUTH", "nonsense"}},
		"P21 wrong user":            {`INVALID user: is always "default"`, []string{"AUTH", "admin", "nonsense"}},
		"P21 SESSION ATTACH wrong":  {"NOSESSION ", []string{"SESSION", "ATTACH", "nonsense"}},
		"P22 HELLO 4":               {"NOPROTO ", []string{"HELLO", "4"}},
		"P22 HELLO x":               {"NOPROTO ", []string{"HELLO", "x"}},
		"HELLO wrong token":         {"NOSESSION ", []string{"HELLO", "3", "AUTH", "default", "nonsense"}},
		"HELLO empty token":         {"NOSESSION ", []string{"HELLO", "3", "AUTH", "default", ""}},
		"HELLO wrong user":          {"INVALID auth: ", []string{"HELLO", "3", "AUTH", "me", "nonsense"}},
		"HELLO half AUTH":           {"INVALID auth: needs a value", []string{"HELLO", "3", "AUTH", "default"}},
		"HELLO unknown option":      {`INVALID option: "FOO" is not known here`, []string{"HELLO", "3", "FOO"}},
		"HELLO name with blank":     {"INVALID setname: ", []string{"HELLO", "3", "SETNAME", "a b"}},
		"P24 NUL":                   {"INVALID name: ", []string{"LOCK", "a\x00"}},
		"P24 line break":            {"INVALID name: ", []string{"LOCK", "a\r\nb"}},
		"P24 not UTF-8":             {"INVALID name: ", []string{"LOCK", "a\xff"}},
		"P24 empty":                 {"INVALID name: ", []string{"LOCK", ""}},
		"P24 256 bytes":             {"INVALID name: ", []string{"LOCK", strings.Repeat("x", 256)}},
		"P24 to unlock":             {"INVALID name: ", []string{"UNLOCK", "a b"}},
		"P24 to renew":              {"INVALID name: ", []string{"RENEW", "a b"}},
		"P24 to show":               {"INVALID name: ", []string{"LOCKINFO", "lockgw:a"}},
		"P25 ttl 0":                 {"INVALID ttl: must be longer than 0", []string{"LOCK", "a", "TTL", "0"}},
		"P25 ttl 0.0":               {"INVALID ttl: must be longer than 0", []string{"LOCK", "a", "TTL", "0.0"}},
		"P25 ttl -1":                {`INVALID ttl: "-1" is no number`, []string{"LOCK", "a", "TTL", "-1"}},
		"P25 ttl 1e3":               {`INVALID ttl: "1e3" is no number`, []string{"LOCK", "a", "TTL", "1e3"}},
		"P25 ttl blank":             {`INVALID ttl: " 5" is no number`, []string{"LOCK", "a", "TTL", " 5"}},
		"P25 ttl +5":                {`INVALID ttl: "+5" is no number`, []string{"LOCK", "a", "TTL", "+5"}},
		"P25 ttl 0x10":              {`INVALID ttl: "0x10" is no number`, []string{"LOCK", "a", "TTL", "0x10"}},
		"P25 ttl 30s":               {`INVALID ttl: "30s" is no number`, []string{"LOCK", "a", "TTL", "30s"}},
		"P25 ttl 20 digits":         {"INVALID ttl: ", []string{"LOCK", "a", "TTL", long}},
		"ttl below the limit":       {"INVALID ttl: must be between 1s and 24h0m0s (limits.min_ttl, limits.max_ttl)", []string{"LOCK", "a", "TTL", "0.5"}},
		"ttl above the limit":       {"INVALID ttl: must be between 1s and 24h0m0s (limits.min_ttl, limits.max_ttl)", []string{"LOCK", "a", "TTL", "86401"}},
		"wait above the limit":      {"INVALID wait: ", []string{"LOCK", "a", "WAIT", "301"}},
		"wait no number":            {"INVALID wait: ", []string{"LOCK", "a", "WAIT", "forever"}},
		"max_hold 0":                {"INVALID maxhold: must be longer than 0", []string{"LOCK", "a", "MAXHOLD", "0"}},
		"thread 0":                  {"INVALID thread: ", []string{"LOCK", "a", "THREAD", "0"}},
		"thread -1":                 {"INVALID thread: ", []string{"LOCK", "a", "THREAD", "-1"}},
		"thread +1":                 {"INVALID thread: ", []string{"LOCK", "a", "THREAD", "+1"}},
		"thread x":                  {"INVALID thread: ", []string{"UNLOCK", "a", "THREAD", "x"}},
		"thread 2^63":               {"INVALID thread: ", []string{"RENEW", "a", "THREAD", "9223372036854775808"}},
		"limit 0":                   {"INVALID limit: must be a decimal from 1 to 100000,", []string{"LOCK", "a", "LIMIT", "0"}},
		"shared and limit":          {"INVALID limit: ", []string{"LOCK", "a", "LIMIT", "2", "SHARED"}},
		"P26 twice":                 {"INVALID wait: is given twice", []string{"LOCK", "a", "WAIT", "1", "wait", "1"}},
		"P26 FULL twice":            {"INVALID full: is given twice", []string{"LOCK", "a", "FULL", "FULL"}},
		"P26 unknown option":        {`INVALID option: "FOO" is not known here`, []string{"LOCK", "a", "FOO"}},
		"option without value":      {"INVALID ttl: needs a value", []string{"LOCK", "a", "TTL"}},
		"id empty":                  {"INVALID req: ", []string{"LOCK", "a", "REQ", ""}},
		"id with blank":             {"INVALID req: ", []string{"LOCK", "a", "REQ", "a b"}},
		"id of 65 characters":       {"INVALID req: ", []string{"UNLOCK", "a", "REQ", strings.Repeat("x", 65)}},
		"note with escape":          {"INVALID note: ", []string{"LOCK", "a", "NOTE", "\x1b[2J"}},
		"note that turns around":    {"INVALID note: ", []string{"LOCK", "a", "NOTE", "\u202eabc"}},
		"note too long":             {"INVALID note: ", []string{"LOCK", "a", "NOTE", strings.Repeat("x", 257)}},
		"note not UTF-8":            {"INVALID note: ", []string{"LOCK", "a", "NOTE", "\xff"}},
		"limit too large":           {"INVALID limit: must be a decimal from 1 to 100000,", []string{"LOCK", "a", "LIMIT", "100001"}},
		"P28 nothing held":          {`NOTHELD lock "a": `, []string{"UNLOCK", "a"}},
		"nothing to renew":          {`NOTHELD lock "a": `, []string{"RENEW", "a"}},
		"P39 injection":             {"ERR unknown command 'x  +OK', with args beginning with: ", []string{"x\r\n+OK"}},
		"P39 escape":                {"ERR unknown command ' [2J', with args beginning with: ", []string{"\x1b[2J"}},
		"P40 long PING":             {"INVALID message: is 65 bytes long, the limit is 64", []string{"PING", strings.Repeat("x", 65)}},
		"P40 long ECHO":             {"INVALID message: is 4096 bytes long, the limit is 64", []string{"ECHO", strings.Repeat("x", 4096)}},
		"count 0":                   {"INVALID count: ", []string{"LOCKS", "COUNT", "0"}},
		"count too large":           {"INVALID count: ", []string{"LOCKS", "COUNT", "1001"}},
		"LOCKS option":              {"INVALID option: ", []string{"LOCKS", "a*"}},
		"keepalive 0":               {"INVALID keepalive: must be longer than 0", []string{"SESSION", "NEW", "KEEPALIVE", "0"}},
		"keepalive too long":        {"INVALID keepalive: ", []string{"SESSION", "NEW", "KEEPALIVE", "86401"}},
		"SESSION FOO":               {`INVALID subcommand: "FOO" is not one of`, []string{"SESSION", "FOO"}},
		"SESSION END of none":       {"NOSESSION ", []string{"SESSION", "END"}},
		"SELECT 1":                  {"INVALID index: ", []string{"SELECT", "1"}},
		"CLIENT KILL":               {"ERR unknown subcommand 'KILL'. Try CLIENT HELP.", []string{"CLIENT", "KILL"}},
		"CLIENT SETINFO":            {`INVALID attribute: "os" is not one of LIB-NAME, LIB-VER`, []string{"CLIENT", "SETINFO", "os", "x"}},
		"CLIENT SETNAME":            {"INVALID name: ", []string{"CLIENT", "SETNAME", "a\nb"}},
		"COMMAND GETKEYS":           {"ERR unknown subcommand 'GETKEYS'. Try COMMAND HELP.", []string{"COMMAND", "GETKEYS", "x"}},
		"channel without lock":      {`INVALID channel: "a" does not begin with lock:`, []string{"SUBSCRIBE", "lock:ok", "a"}},
		"channel of no name":        {"INVALID name: ", []string{"SUBSCRIBE", "lock:a b"}},
		"pattern inside":            {`INVALID pattern: "lock:a*b"`, []string{"PSUBSCRIBE", "lock:a*b"}},
		"star in a pattern":         {`INVALID pattern: "lock:a*b*"`, []string{"PSUBSCRIBE", "lock:a*b*"}},
		"pattern of no name":        {"INVALID name: must not contain control characters or white space", []string{"PSUBSCRIBE", "lock:a b*"}},
		"set in a pattern":          {`INVALID pattern: "lock:[ab]*"`, []string{"PSUBSCRIBE", "lock:[ab]*"}},
		"client that turns a line":  {"INVALID name: ", []string{"CLIENT", "SETNAME", "a\u202eb"}},
		"long name of a client":     {"INVALID name: ", []string{"CLIENT", "SETNAME", strings.Repeat("x", 65)}},
		"pattern of all":            {`INVALID channel: "*"`, []string{"PSUBSCRIBE", "*"}},
		"P35 MONITOR":               {"ERR unknown command 'MONITOR', with args beginning with: ", []string{"MONITOR"}},
	}
	for _, name := range []string{"CONFIG", "KEYS", "FLUSHALL", "DEBUG", "SHUTDOWN", "SET", "GET"} {
		tests["P35 "+name] = struct {
			want string
			args []string
		}{fmt.Sprintf("ERR unknown command '%s', with args beginning with: 'a' ", name), []string{name, "a"}}
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := g.with(t)
			w := g.dial()
			w.wantError(test.want, test.args...)
			w.want("PONG", "PING")
			w.want(nil, "CLIENT", "GETNAME")
			g.unchanged()
		})
	}
}

// P1: Redis ignores a command without a name.
func TestEmptyCommands(t *testing.T) {
	w := start(t).dial()
	w.write("*0\r\n*-1\r\n\r\n\n")
	w.want("PONG", "PING")
	for range 3 {
		w.write(strings.Repeat("\n", 90)) // not more in a row than is allowed
		w.want("PONG", "PING")
	}
}

// P13: whoever sends a command in drops has as long for it as everybody else.
func TestSlowCommand(t *testing.T) {
	g := start(t, func(o *setup) { o.socket.Limits.Read = 100 * time.Millisecond })
	w := g.dial()
	began := time.Now()
	var sent atomic.Int32
	var sending sync.WaitGroup
	closed := make(chan struct{})
	sending.Go(func() { // a hundred times as long as the whole command may take
		for _, c := range "LOCK " + strings.Repeat("a", 1000) {
			select {
			case <-closed:
				return
			case <-time.After(10 * time.Millisecond):
			}
			w.write(string(c))
			sent.Add(1)
		}
	})
	defer sending.Wait()
	defer close(closed)
	if got := w.rest(); !strings.Contains(got, "did not arrive") {
		t.Errorf("a slow command = %q, want an error", got)
	}
	if took := time.Since(began); took < 90*time.Millisecond || sent.Load() > 900 {
		t.Errorf("closed after %v and %d characters, want 100ms", took, sent.Load())
	}
	g.unchanged()
}

// The time for a command does not count while none is begun.
func TestIdle(t *testing.T) {
	g := start(t, func(o *setup) { o.socket.Limits.Read = 500 * time.Millisecond })
	w := g.dial()
	w.write("PI")
	time.Sleep(5 * time.Millisecond)
	w.write("NG\r\n")
	if got := w.read(); got != "PONG" {
		t.Errorf("PING in two parts = %v, want PONG", got)
	}
	time.Sleep(600 * time.Millisecond)
	w.want("PONG", "PING")
}

// P14: a command may arrive in any parts.
func TestSplitCommand(t *testing.T) {
	w := start(t).dial()
	in := encode("LOCK", "a", "WAIT", "1") + encode("UNLOCK", "a")
	for at := 1; at < len(in); at++ {
		w.write(in[:at])
		time.Sleep(100 * time.Microsecond)
		w.write(in[at:])
		if fence, ok := w.read().(int64); !ok || fence == 0 {
			t.Fatalf("split at %d: LOCK = %v, want a fence", at, fence)
		}
		if left := w.read(); left != int64(0) {
			t.Fatalf("split at %d: UNLOCK = %v, want 0", at, left)
		}
	}
}

// P21: whoever guesses tokens does not get far on one connection.
func TestGuessing(t *testing.T) {
	w := start(t).dial()
	w.write(strings.Repeat(encode("AUTH", "guess"), 1000))
	if n := strings.Count(w.rest(), "-NOSESSION "); n != maxFailures {
		t.Errorf("%d guesses were answered, want %d and the end", n, maxFailures)
	}
}

// A client that has sent what cannot be understood in the middle of its commands
// is answered up to there, unless a command takes so long that the rest is read meanwhile:
// that one is ended (see TestLastLine).
func TestGoodThenBad(t *testing.T) {
	g := start(t)
	w := g.dial()
	w.write("LOCK a\r\n*x\r\nLOCK b\r\n")
	got := w.rest()
	fence, last, ok := strings.Cut(got, "\r\n")
	if !ok || fence[0] != ':' {
		last = got // LOCK took longer
	}
	if last != "-ERR Protocol error: invalid multibulk length\r\n" {
		t.Errorf("a fence, then garbage = %q", got)
	}
	eventually(t, "the lock is free", func() bool { return g.m.Stats().Holds == 0 })
}

func FuzzServer(f *testing.F) {
	for _, in := range []string{
		"LOCK a\r\n", encode("LOCK", "a", "WAIT", "0.01", "FULL"), "HELLO 3\nSESSION INFO\n", "SUBSCRIBE lock:a\nPING\n",
		"COMMAND DOCS\nINFO\nCLIENT INFO\n", "SESSION NEW KEEPALIVE 5\nRESET\nQUIT\n", "LOCKS PREFIX a COUNT 3\n", "\x00",
	} {
		f.Add([]byte(in))
	}
	g := start(f)
	f.Fuzz(func(t *testing.T, in []byte) {
		g := g.with(t)
		w := g.dial()
		w.Write(in)
		w.Conn.(interface{ CloseWrite() error }).CloseWrite()
		w.rest()
		w.Close()
		eventually(t, "the session of a closed connection has ended", func() bool { return g.m.Stats().Holds == 0 })
		after := g.dial()
		after.want("PONG", "PING")
		after.Close()
	})
}
