package rig

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// Many messages at once are late by the same time, not one after the other.
func TestForwardDelays(t *testing.T) {
	const d = 50 * time.Millisecond
	var took time.Duration
	for range 10 { // a busy machine may need as long as five delays one after the other, but not every time
		if took = forwarded(t, d); took < d {
			break
		}
		if took <= 4*d {
			return
		}
	}
	t.Errorf("took %v, want about %v", took, d)
}

// forwarded is how long five characters take there and back, sent at once.
func forwarded(t *testing.T, d time.Duration) time.Duration {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() {
		if c, err := ln.Accept(); err == nil {
			Echo(c)
		}
	}()
	near, far := net.Pipe()
	t.Cleanup(func() { near.Close() })
	go Forward(far, ln.Addr().String(), d)
	began := time.Now()
	for _, s := range []string{"a", "b", "c", "d", "e"} {
		if _, err := io.WriteString(near, s); err != nil {
			t.Fatal(err)
		}
	}
	got := make([]byte, 5)
	if _, err := io.ReadFull(near, got); err != nil || string(got) != "abcde" {
		t.Fatalf("read %q, err %v, want abcde", got, err)
	}
	return time.Since(began)
}

// A server that ends at once is told with what it wrote.
func TestStartShowsLog(t *testing.T) {
	never := func(context.Context) error { return io.EOF }
	_, err := Start(t.Context(), t.TempDir(), "failing", never, "sh", "-c", "echo no such thing; exit 1")
	if err == nil || !strings.Contains(err.Error(), "no such thing") {
		t.Errorf("err = %v, want what the server wrote", err)
	}
}
