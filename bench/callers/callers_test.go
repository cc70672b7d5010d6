package callers

import (
	"bufio"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// A limit that sends less than the lock would be none.
func TestPingLike(t *testing.T) {
	lock, unlock := LockAndUnlock("bench")
	for _, request := range [][]byte{lock, unlock} {
		if ping, _ := PingLike(request); len(ping) != len(request) {
			t.Errorf("a PING like %q has %d bytes, want %d", request, len(ping), len(request))
		}
	}
}

func TestFetch(t *testing.T) {
	for _, tt := range []struct {
		name, answer, body string
		fails              bool
	}{
		{"a body", "HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{}", "{}", false},
		{"no body", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "", false},
		{"refused", "HTTP/1.1 423 Locked\r\nContent-Length: 2\r\n\r\n{}", "", true},
		{"a bad length", "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", "", true},
		{"cut off", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}", "", true},
	} {
		near, far := net.Pipe()
		go func() {
			_, _ = far.Read(make([]byte, 1024))
			_, _ = io.WriteString(far, tt.answer)
			far.Close()
		}()
		w := &Wire{near, bufio.NewReader(near)}
		body, err := w.Fetch(Request("GET", "/livez", "", ""))
		if string(body) != tt.body && !tt.fails || (err != nil) != tt.fails {
			t.Errorf("%s: body %q, err %v, want %q, failure %v", tt.name, body, err, tt.body, tt.fails)
		}
		near.Close()
	}
}

// A caller that fails ends the measurement with its error.
func TestLoadTellsErrors(t *testing.T) {
	c := Crew{Ops: []Op{func() error { return nil }, func() error { return io.ErrUnexpectedEOF }}}
	if _, err := Load(c, time.Millisecond); err == nil || !strings.Contains(err.Error(), io.ErrUnexpectedEOF.Error()) {
		t.Errorf("err = %v, want %v", err, io.ErrUnexpectedEOF)
	}
}
