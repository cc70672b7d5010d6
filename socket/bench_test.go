package socket

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
)

// caller talks to the gateway with as little of its own as can be: answers of the
// hot path are one line each.
type caller struct {
	*wire
	lock, unlock, ping []byte
}

func (g *gateway) caller(name string) *caller {
	return &caller{g.dial(), []byte(encode("LOCK", name, "WAIT", "60")), []byte(encode("UNLOCK", name)), []byte(encode("PING"))}
}

func (c *caller) call(b []byte) {
	if _, err := c.Write(b); err != nil {
		c.t.Error(err)
	}
	if line, err := c.r.ReadSlice('\n'); err != nil || line[0] == '-' || line[0] == '$' {
		c.t.Errorf("answer %q, err %v", line, err)
	}
}

// The floor: a round trip that does nothing.
func BenchmarkPing(b *testing.B) {
	c := start(b).caller("a")
	b.ReportAllocs()
	for b.Loop() {
		c.call(c.ping)
	}
}

func BenchmarkLockUnlock(b *testing.B) {
	for _, n := range []int{1, 64} {
		b.Run(fmt.Sprint("callers=", n), func(b *testing.B) {
			benchLocks(b, start(b), n)
		})
	}
}

// Others listen to what has nothing to do with it.
func BenchmarkLockBesidePatterns(b *testing.B) {
	g := start(b)
	for i := range 15 {
		w := g.dial()
		for j := range maxChannels {
			w.do("PSUBSCRIBE", fmt.Sprintf("lock:other/%d/%d*", i, j))
		}
	}
	benchLocks(b, g, 64)
}

// benchLocks has n callers at work, each with a lock of its own.
func benchLocks(b *testing.B, g *gateway, n int) {
	var callers []*caller
	for i := range n {
		callers = append(callers, g.caller(fmt.Sprint("lock", i)))
	}
	b.ReportAllocs()
	b.ResetTimer()
	each(b.N, callers, func(c *caller) {
		c.call(c.lock)
		c.call(c.unlock)
	})
}

// One lock, passed from connection to connection.
func BenchmarkHandOff(b *testing.B) {
	for _, n := range []int{2, 100, 1000} {
		for _, protocol := range []string{"2", "3"} { // with RESP3 somebody listens to events
			handOff(b, n, protocol)
		}
	}
}

func handOff(b *testing.B, n int, protocol string) {
	b.Run(fmt.Sprintf("callers=%d/RESP%s", n, protocol), func(b *testing.B) {
		g := start(b)
		var callers []*caller
		for range n {
			c := g.caller("a")
			c.do("HELLO", protocol)
			callers = append(callers, c)
		}
		b.ReportAllocs()
		b.ResetTimer()
		each(b.N, callers, func(c *caller) {
			c.call(c.lock)
			c.call(c.unlock)
		})
	})
}

// A pipeline of locks and unlocks, to be answered with few writes.
func BenchmarkPipeline(b *testing.B) {
	c := start(b).caller("a")
	const pairs = 50
	var request []byte
	for range pairs {
		request = append(append(request, c.lock...), c.unlock...)
	}
	b.ReportAllocs()
	for b.Loop() {
		c.Write(request)
		for range 2 * pairs {
			if _, err := c.r.ReadSlice('\n'); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/pairs, "ns/pair")
}

// each shares n rounds between the callers.
func each(n int, callers []*caller, round func(c *caller)) {
	var left atomic.Int64
	left.Store(int64(n))
	var wg sync.WaitGroup
	for _, c := range callers {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				round(c)
			}
		})
	}
	wg.Wait()
}
