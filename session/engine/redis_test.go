package engine_test

import (
	"fmt"
	"testing"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/redis"
	"github.com/lockgw/lockgw/backend/redis/redistest"
)

// The storm over a real server, with faults and without.
func TestStormOnRedis(t *testing.T) {
	for name, mode := range map[string]backend.Mode{"locks": backend.Exclusive, "shared": backend.Shared, "semaphores": 3} {
		for _, faults := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, faults %v", name, faults), func(t *testing.T) {
				t.Parallel()
				s := redistest.Start(t)
				runStorm(t, mode, faults, func(node string) ledger.Table {
					table, err := redis.OpenTable(redis.Config{URL: s.URL(), Node: backend.Node{ID: node}, Guard: redis.GuardNone})
					if err != nil {
						t.Fatal(err)
					}
					return table
				})
			})
		}
	}
}
