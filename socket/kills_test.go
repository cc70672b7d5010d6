package socket

import (
	"flag"
	"slices"
	"testing"
	"time"
)

var kills = flag.Int("kills", 30, "how many clients TestKills kills in each way; from 1,000 on it checks the times")

// TestKills kills clients while they hold a lock and while they wait for it, and
// measures how long the next one waits from then on.
//
//	go test -run TestKills ./socket -kills 1000 -v
func TestKills(t *testing.T) {
	for _, w := range []way{byConnection, byProcess} {
		t.Run(string(w), func(t *testing.T) {
			g := start(t)
			socket := g.path
			if w != byConnection {
				socket = g.http()
			}
			next := g.dial()
			var times []time.Duration
			for i := range *kills {
				times = append(times, g.killTwo(next, w, socket, i%2 == 0))
			}
			slices.Sort(times)
			p50, p99 := times[len(times)/2], times[len(times)*99/100]
			t.Logf("%d kills: p50 %v, p99 %v, at most %v", len(times), p50, p99, times[len(times)-1])
			if *kills >= 1000 && p99 >= 50*time.Millisecond {
				t.Errorf("p99 = %v, want less than 50 ms", p99)
			}
		})
	}
}

// killTwo kills the holder and the first in the queue, and returns how long after
// that the second in the queue is granted the lock. Nothing may be left of the dead.
func (g *gateway) killTwo(next *wire, w way, socket string, holderFirst bool) time.Duration {
	g.t.Helper()
	holder := runAt(g.t, w, socket, false)
	holder.hears("held")
	first := runAt(g.t, w, socket, false)
	g.waiters(1)
	next.send("LOCK", "a", "WAIT", "60")
	g.waiters(2)
	doomed := []*process{first, holder}
	if holderFirst {
		slices.Reverse(doomed)
	}
	for _, p := range doomed {
		p.kill()
	}
	killed := time.Now()
	if fence, ok := next.read().(int64); !ok || fence == 0 {
		g.t.Fatalf("LOCK = %v, want a fence", fence)
	}
	took := time.Since(killed)
	next.want(int64(0), "UNLOCK", "a")
	eventually(g.t, "nothing is left of the dead", func() bool {
		st := g.m.Stats()
		return st.Holds == 0 && st.Waiters == 0 && st.Sessions == 1
	})
	holder.reap()
	first.reap()
	return took
}
