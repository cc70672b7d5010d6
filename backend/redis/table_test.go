package redis_test

import (
	"testing"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/redis"
	"github.com/lockgw/lockgw/backend/redis/redistest"
	"github.com/lockgw/lockgw/backend/tabletest"
)

// openTable is a Table of a node over the Redis at url.
func openTable(t testing.TB, url, node, guard string) *redis.Table {
	t.Helper()
	table, err := redis.OpenTable(redis.Config{URL: url, Node: backend.Node{ID: node}, Guard: guard, Lease: quarantine})
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestTable(t *testing.T) {
	t.Parallel()
	for _, guard := range []string{redis.GuardNone, redis.GuardQuarantine} {
		t.Run(guard, func(t *testing.T) {
			s := redistest.Start(t)
			tabletest.Run(t, func(t *testing.T, node string) ledger.Table { return openTable(t, s.URL(), node, guard) })
		})
	}
}

func TestTableOnCluster(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, 0)
	tabletest.Run(t, func(t *testing.T, node string) ledger.Table {
		return openTable(t, c.URL(), node, redis.GuardQuarantine)
	})
}

func TestTableBehindSentinels(t *testing.T) {
	t.Parallel()
	w := redistest.StartWatched(t, 1)
	tabletest.Run(t, func(t *testing.T, node string) ledger.Table {
		return openTable(t, w.URL(), node, redis.GuardQuarantine)
	})
}
