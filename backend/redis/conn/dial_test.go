package conn

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// A server without TLS waits for more of what it takes for a command: that is told as what it
// may be, and not as a deadline.
func TestTLSToAPlainPort(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	go func() {
		c, err := ln.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		_, _ = io.Copy(io.Discard, c)
	}()
	_, err = Dialer(200*time.Millisecond, func() *tls.Config { return &tls.Config{InsecureSkipVerify: true} })(t.Context(), "tcp", ln.Addr().String())
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "does not answer in TLS") {
		t.Errorf("err = %v, want that it does not answer in TLS", err)
	}
}

// Several Sentinels that cannot be reached are told in one line.
func TestDialFailureIsOneLine(t *testing.T) {
	if got := dialFailure(errors.Join(errors.New("a: refused"), errors.New("b: refused"))); got != "a: refused; b: refused" {
		t.Errorf("%q", got)
	}
}
