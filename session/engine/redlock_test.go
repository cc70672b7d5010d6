package engine_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/memory"
	"github.com/lockgw/lockgw/backend/redis"
	"github.com/lockgw/lockgw/backend/redis/redistest"
	"github.com/lockgw/lockgw/backend/redlock/voting"
	"github.com/lockgw/lockgw/backend/tabletest"
)

// away is a server that answers nobody while down is set.
type away struct {
	ledger.Table
	down *atomic.Bool
}

func (a away) gone() error {
	if a.down.Load() {
		time.Sleep(rand.N(20 * time.Millisecond))
		return fmt.Errorf("%w: the server is down", backend.ErrUnavailable)
	}
	return nil
}

func (a away) Swap(ctx context.Context, s ledger.Swap) (ledger.Reply, error) {
	if err := a.gone(); err != nil {
		return ledger.Reply{}, err
	}
	return a.Table.Swap(ctx, s)
}

func (a away) Look(ctx context.Context, name string) (ledger.Reply, error) {
	if err := a.gone(); err != nil {
		return ledger.Reply{}, err
	}
	return a.Table.Look(ctx, name)
}

func (a away) Renew(ctx context.Context, rs []ledger.Renewal) ([]error, error) {
	if err := a.gone(); err != nil {
		return nil, err
	}
	return a.Table.Renew(ctx, rs)
}

// The storm over servers that vote. Of n, a minority is down at any time, another one each
// time, and all lose requests, answers and messages.
func TestStormOnVotes(t *testing.T) {
	for _, n := range []int{3, 5} {
		for _, faults := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d servers, faults %v", n, faults), func(t *testing.T) {
				t.Parallel()
				var stores []*memory.Rows
				for range n {
					stores = append(stores, memory.NewRows())
				}
				votes(t, n, faults, func(i int, node string) ledger.Table { return memory.OpenTable(stores[i], node) })
			})
		}
	}
}

func TestStormOnVotesOfRedis(t *testing.T) {
	for _, faults := range []bool{false, true} {
		t.Run(fmt.Sprintf("faults %v", faults), func(t *testing.T) {
			t.Parallel()
			var urls []string
			for range 3 {
				urls = append(urls, redistest.Start(t).URL())
			}
			votes(t, len(urls), faults, func(i int, node string) ledger.Table {
				table, err := redis.OpenTable(redis.Config{URL: urls[i], Node: backend.Node{ID: node}, Guard: redis.GuardNone})
				if err != nil {
					t.Fatal(err)
				}
				return table
			})
		})
	}
}

func votes(t *testing.T, n int, faults bool, table func(i int, node string) ledger.Table) {
	down := make([]atomic.Bool, n)
	if faults {
		stop := make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			for {
				away := rand.Perm(n)[:(n-1)/2]
				for _, i := range away {
					down[i].Store(true)
				}
				select {
				case <-stop:
					return
				case <-time.After(rand.N(400 * time.Millisecond)):
				}
				for _, i := range away {
					down[i].Store(false)
				}
				time.Sleep(rand.N(100 * time.Millisecond))
			}
		})
		t.Cleanup(wg.Wait)
		t.Cleanup(func() { close(stop) })
	}
	runStorm(t, backend.Exclusive, faults, func(node string) ledger.Table {
		var servers []ledger.Table
		for i := range n {
			f := &tabletest.Faulty{Table: table(i, node), Delay: 300 * time.Millisecond}
			if faults {
				f.Lost, f.Unanswered, f.Late, f.Refused, f.Message = 40, 40, 40, 40, 10
			}
			servers = append(servers, away{f, &down[i]})
		}
		return voting.New(servers)
	})
}
