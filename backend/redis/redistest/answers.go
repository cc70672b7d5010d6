package redistest

import (
	"net"
	"strings"
	"sync"
	"testing"
)

// Answers starts what looks like a server while a client introduces itself, and then gives
// the same reply to whatever it sends. It returns its address, and ends with the test.
func Answers(t testing.TB, reply string) string {
	t.Helper()
	return listen(t, func(c net.Conn) {
		defer c.Close()
		for buf := make([]byte, 64<<10); ; {
			n, err := c.Read(buf)
			if err != nil {
				return
			}
			if _, err := c.Write([]byte(answer(string(buf[:n]), reply))); err != nil {
				return
			}
		}
	})
}

// listen has serve take each connection to the address that it returns, until the test ends.
func listen(t testing.TB, serve func(net.Conn)) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listen: %v", err)
	}
	var conns sync.WaitGroup
	conns.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return // closed
			}
			conns.Go(func() { serve(c) })
		}
	})
	t.Cleanup(func() { // after the clients are closed, which were made later
		_ = ln.Close()
		conns.Wait()
	})
	return ln.Addr().String()
}

// answer to all commands in sent.
func answer(sent, reply string) string {
	all := ""
	for words := strings.Split(sent, "\r\n"); len(words) > 2; words = words[1:] {
		switch {
		case !strings.HasPrefix(words[0], "*"): // no command begins here
		case strings.EqualFold(words[2], "hello"):
			all += "*0\r\n"
		case strings.EqualFold(words[2], "client"):
			all += "+OK\r\n"
		default:
			all += reply
		}
	}
	return all
}
