package servertest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"testing"
)

// Ports below those that a kernel gives to who names none, for that may be any program, and in
// the midst of a restart.
const lowest, ports = 10_000, 22_000

// FreeAddrs are n different ones on loopback, host:port, which are those of t until its end.
func FreeAddrs(t testing.TB, n int) (addrs []string) {
	t.Helper()
	free, release, err := FreePorts(n)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	for _, p := range free {
		addrs = append(addrs, address(p))
	}
	return addrs
}

// FreePorts are n different ones on loopback. Until release is called no other test takes one
// for a server of its own, be it in another process. That is agreed on by UDP, which nothing
// else uses here.
func FreePorts(n int) (free []int, release func(), err error) {
	var mine []net.PacketConn
	release = func() {
		for _, c := range mine {
			c.Close()
		}
	}
	for range 100 * n {
		p := lowest + rand.N(ports)
		c, err := net.ListenPacket("udp", address(p))
		if err != nil {
			continue
		}
		l, err := net.Listen("tcp", address(p))
		if err != nil {
			c.Close()
			continue
		}
		l.Close()
		mine = append(mine, c)
		if free = append(free, p); len(free) == n {
			return free, release, nil
		}
	}
	release()
	return nil, nil, fmt.Errorf("found no %d free ports", n)
}

func address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
