package redis_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/redis"
	"github.com/lockgw/lockgw/backend/redis/redistest"
)

// BenchmarkPair locks and unlocks names that nobody else uses, by as many callers.
// us-redis/op is the processor time of Redis, us-scripts/op that of its scripts.
func BenchmarkPair(b *testing.B) {
	const node = "5f1c3c9e-2a41-4a0e-9d38-5a0a3b1f7f10"
	for _, n := range []int{1, 32} {
		b.Run(fmt.Sprintf("%d", n), func(b *testing.B) {
			s := redistest.Start(b)
			table := openTable(b, s.URL(), node, redis.GuardQuarantine)
			pairs(b, s, n, func(ctx context.Context, name string) func() error {
				var seen ledger.Reply
				write := func(op ledger.Op) error {
					op.Node, op.Turns, op.TTL, op.Floor = node, 64, 30*time.Second, backend.Fence(seen.Clock)
					op.Callers = []ledger.Caller{{Owner: benchOwner, Entries: 1, About: benchAbout}}
					if seen.Version == "" {
						op.Floor = 0
					}
					if h := seen.Record.Firm(node); h != nil {
						op.Hold = h.ID
					}
					next, effects := ledger.Step(seen.Record, op, 0)
					r, err := table.Swap(ctx, ledger.Swap{Name: name, Base: seen.Version, Record: next, Effects: effects})
					if err == nil && !r.Written {
						err = fmt.Errorf("not written: %+v", r)
					}
					seen = r
					return err
				}
				return func() error {
					if err := write(ledger.Op{Want: 1}); err != nil {
						return err
					}
					return write(ledger.Op{Verb: ledger.Leave})
				}
			})
		})
	}
}

// BenchmarkRenew renews a hundred holds together. us-scripts/op is the processor time of
// Redis for one of them.
func BenchmarkRenew(b *testing.B) {
	const together = 100
	s := redistest.Start(b)
	table := openTable(b, s.URL(), "a", redis.GuardQuarantine)
	all := make([]ledger.Renewal, together)
	for i := range all {
		name := fmt.Sprint("bench", i)
		next, effects := ledger.Step(ledger.Record{}, ledger.Op{
			Node: "a", Want: 1, Turns: 64, TTL: time.Minute, Callers: []ledger.Caller{{Owner: benchOwner, Entries: 1, About: benchAbout}},
		}, 0)
		r, err := table.Swap(b.Context(), ledger.Swap{Name: name, Record: next, Effects: effects})
		if err != nil || r.Record.Firm("a") == nil {
			b.Fatalf("not granted: %+v, %v", r, err)
		}
		all[i] = ledger.Renewal{Name: name, ID: r.Record.Firm("a").ID, TTL: time.Minute}
	}
	_, before := scriptTime(b, s)
	renewed := 0
	for b.Loop() {
		errs, err := table.Renew(b.Context(), all)
		if err = errors.Join(append(errs, err)...); err != nil {
			b.Fatal(err)
		}
		renewed += together
	}
	_, after := scriptTime(b, s)
	b.ReportMetric(float64(after-before)/float64(renewed), "us-scripts/op")
}

// One more write of a name that many nodes share: what it costs Redis, in which all others wait.
func BenchmarkManyHolders(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := redistest.Start(b)
			a := openNode(b, s.URL(), "a", redis.GuardNone)
			seen := shared(b, a, "x", n)
			_, before := scriptTime(b, s)
			written := 0
			for b.Loop() {
				r, err := a.Swap(b.Context(), ledger.Swap{Name: "x", Base: seen.Version, Record: seen.Record})
				if err != nil || !r.Written {
					b.Fatal(r, err)
				}
				seen = r
				written++
			}
			_, after := scriptTime(b, s)
			b.ReportMetric(float64(after-before)/float64(written), "us-scripts/op")
		})
	}
}

const (
	benchOwner = "99e00d47-46d5-486b-93dc-ca0053d33ea2:1"
	benchAbout = `{"pid":21590,"command":"backup.sh"}`
)

func pairs(b *testing.B, s *redistest.Server, callers int, of func(ctx context.Context, name string) func() error) {
	b.ReportAllocs()
	ops := make([]func() error, callers)
	for i := range ops {
		ops[i] = of(b.Context(), fmt.Sprint("bench", i))
		if err := ops[i](); err != nil {
			b.Fatal(err)
		}
	}
	before := processorTime(b, s)
	_, scripts := scriptTime(b, s)
	b.ResetTimer()
	var wg sync.WaitGroup
	for i, op := range ops {
		wg.Go(func() {
			for range b.N / callers {
				if err := op(); err != nil {
					b.Errorf("caller %d: %v", i, err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	done := float64(max(b.N/callers*callers, 1))
	b.ReportMetric((processorTime(b, s)-before)/done, "us-redis/op")
	_, after := scriptTime(b, s)
	b.ReportMetric(float64(after-scripts)/done, "us-scripts/op")
	b.ReportMetric(done/b.Elapsed().Seconds(), "pairs/s")
}

// processorTime of the server, in microseconds.
func processorTime(t testing.TB, s *redistest.Server) float64 {
	t.Helper()
	info, err := s.Client().Info(t.Context(), "cpu").Result()
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for line := range strings.Lines(info) {
		var v float64
		for _, what := range []string{"used_cpu_user:%g", "used_cpu_sys:%g"} {
			if n, _ := fmt.Sscanf(line, what, &v); n == 1 {
				sum += v
			}
		}
	}
	return sum * 1e6
}
