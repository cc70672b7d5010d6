package servertest

import (
	"net"
	"testing"
)

// FreeAddrs are n different ones on loopback, host:port. Another process may take one before
// a server does.
func FreeAddrs(t testing.TB, n int) (addrs []string) {
	t.Helper()
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatalf("find a free port: %v", err)
		}
		defer l.Close()
		addrs = append(addrs, l.Addr().String())
	}
	return addrs
}
