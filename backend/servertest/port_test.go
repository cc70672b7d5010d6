package servertest

import (
	"net"
	"testing"
)

// Who asks has a port for itself as long as its test runs, whether a server is there or not.
func TestFreeAddrs(t *testing.T) {
	taken := map[string]bool{}
	for range 100 {
		for _, addr := range FreeAddrs(t, 20) {
			if taken[addr] {
				t.Fatalf("%s is given twice", addr)
			}
			taken[addr] = true
		}
	}
	for addr := range taken {
		l, err := net.Listen("tcp", addr)
		if err != nil {
			t.Fatalf("a server cannot listen at it: %v", err)
		}
		l.Close()
	}
}
