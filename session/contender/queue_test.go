package contender

import (
	"fmt"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
)

// drain has n callers come and be served one after the other.
func drain(b *bench, n int) {
	ws := make([]*Caller, n)
	for i := range ws {
		ws[i] = exclusive()
		ws[i].TTL = time.Minute
		b.enter(ws[i])
	}
	for i, w := range ws {
		for b.sent != nil {
			b.answer()
		}
		if !b.accept(w) {
			b.Fatalf("caller %d of %d is not served in its turn", i, n)
		}
		b.did(b.c.Release(b.now, w))
		b.now += time.Microsecond
	}
	for b.sent != nil {
		b.answer()
	}
	if b.c.Hold() != 0 || len(b.row.Record.Holds) > 0 {
		b.Fatal("something is left")
	}
}

func BenchmarkDrain(b *testing.B) {
	for _, n := range []int{1, 100, 1000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				drain(newBench(&testing.T{}, nil), n)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/pair")
		})
	}
}

// What the queue counts is what is in it.
func TestQueueCounts(t *testing.T) {
	var q queue
	var gone []*Caller
	check := func() {
		t.Helper()
		noWait, alone, unasked, curious := 0, 0, 0, 0
		for _, w := range q.ws {
			noWait += bit(w.NoWait)
			alone += bit(w.Mode == backend.Exclusive)
			unasked += bit(!w.asked)
			curious += bit(w.Curious && !w.queued)
		}
		if q.noWait != noWait || q.alone != alone || q.unasked != unasked || q.curious != curious {
			t.Fatalf("it counts %d, %d, %d and %d, there are %d, %d, %d and %d", q.noWait, q.alone, q.unasked, q.curious, noWait, alone, unasked, curious)
		}
	}
	for i := range 500 {
		switch {
		case i%7 == 3:
			q.sent()
		case i%7 == 5 && q.len() > 0:
			gone = append(gone, q.pop())
		case i%11 == 4 && q.len() > 2:
			q.remove(q.ws[1])
		case i%17 == 9 && q.len() > 0 && !q.ws[0].NoWait:
			q.hurry(q.ws[0])
		case i%13 == 6 && len(gone) > 0:
			q.pushFront(gone[0])
			gone = gone[1:]
		default:
			q.push(&Caller{NoWait: i%3 == 0, Curious: i%5 == 0, Mode: backend.Mode(-(i % 2))})
		}
		check()
	}
	q.sent()
	q.answered()
	for _, w := range q.ws {
		if !w.asked || !w.seen {
			t.Error("one who waits was not asked for")
		}
	}
}

// A drain of many is told in the order in which they came.
func TestDrain(t *testing.T) { drain(newBench(t, nil), 200) }
