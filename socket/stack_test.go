//go:build !race

// Without the race detector, which makes the frames of all functions larger.

package socket

import (
	"fmt"
	"io"
	"net"
	"runtime"
	"testing"
)

// A caller that waits has one goroutine, which reads and has executed nothing, so that its
// stack is small, also before the garbage collector has seen it.
func TestStackOfAWaiter(t *testing.T) {
	const waiters, most = 200, 5 << 10 // 2 KiB, and what some who are about to park have
	g := start(t)
	connect := func(command string) net.Conn {
		c, err := net.Dial("unix", g.path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		if _, err := io.WriteString(c, command); err != nil {
			t.Fatal(err)
		}
		return c
	}
	holder := connect("LOCK a\r\n")
	if _, err := holder.Read(make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	before := stacks()
	for range waiters {
		connect("LOCK a WAIT 300\r\n")
	}
	g.waiters(waiters)
	each := 0
	eventually(t, fmt.Sprintf("the stacks of a waiter have at most %d bytes", most), func() bool {
		each = (stacks() - before) / waiters
		return each <= most
	})
	t.Logf("%d bytes each", each)
}

// stacks is how much all stacks occupy. What is free is not counted.
func stacks() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.StackInuse)
}
