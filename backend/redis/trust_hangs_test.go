package redis_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/breaker"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/redis"
	"github.com/lockgw/lockgw/backend/redis/redistest"
)

// A server that hangs is one that does not answer, also where the question is who it is, or
// whether it compares.
func TestBreakerOpensWhileNobodySaysWhoItIs(t *testing.T) {
	for name, guard := range map[string]string{"who it is": redis.GuardQuarantine, "whether it compares": redis.GuardNone} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t)
			n := openImpatient(t, s.URL(), "n", guard)
			if guard == redis.GuardQuarantine {
				n.takes("x")
			}
			table := breaker.New(n.Table, n.Table.Ping, slog.New(slog.DiscardHandler))
			s.Pause()
			defer s.Resume()
			for i := range 6 {
				_, err := table.Swap(t.Context(), n.swapOf(fmt.Sprint("y", i), ledger.Reply{}, ledger.Op{Want: 1}))
				if !errors.Is(err, backend.ErrUnavailable) && !errors.Is(err, backend.ErrRefused) {
					t.Fatalf("swap = %v", err)
				}
			}
			if now, _ := breaker.StateOf(table); now != breaker.Open {
				t.Errorf("the breaker is %v after six grants without an answer, want it open", now)
			}
		})
	}
}

// One master that hangs holds up nobody who asks another one for the first time.
func TestMasterThatHangsHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, 0)
	names := namesOn(t, c)
	n := openImpatient(t, c.URL(), "n", redis.GuardQuarantine)
	n.takes("first:{" + names[2] + "}")
	hung := c.Masters[2]
	hung.Pause()
	defer hung.Resume()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	grant := func(ctx context.Context, name string) error {
		_, err := n.Swap(ctx, n.swapOf(name, ledger.Reply{}, ledger.Op{Want: 1}))
		return err
	}
	for range 40 {
		wg.Go(func() {
			for ctx.Err() == nil {
				one, cancel := context.WithTimeout(ctx, 2*time.Second)
				_ = grant(one, "hung:{"+names[2]+"}")
				cancel()
			}
		})
	}
	time.Sleep(time.Second) // until they wait for each other
	one, cancelOne := context.WithTimeout(ctx, 2*time.Second)
	defer cancelOne()
	if err := grant(one, "well:{"+names[0]+"}"); err != nil {
		t.Errorf("of a master that answers: %v", err)
	}
}
