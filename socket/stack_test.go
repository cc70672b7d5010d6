//go:build !race

// Without the race detector, which makes the frames of all functions larger.

package socket

import (
	"io"
	"net"
	"runtime"
	"testing"
)

// What a caller that waits costs is mostly the stack of the goroutine that executes its
// LOCK. The way there needs more than 8 KiB for a moment, and the garbage collector halves a
// stack of 16 KiB only if less than a quarter of it is in use: structs that are passed by
// value from function to function made that more.
func TestStackOfAWaiter(t *testing.T) {
	const waiters, most = 200, 13 << 10 // 8 and 2 KiB, where it is not halved 16 and 2
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
	if each := (stacks() - before) / waiters; each > most {
		t.Errorf("the stacks of a waiter have %d bytes, want at most %d", each, most)
	}
}

// stacks is how much all stacks occupy, after some garbage collections.
func stacks() int {
	for range 5 {
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.StackInuse)
}
