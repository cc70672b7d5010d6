package engine_test

import (
	"fmt"
	"testing"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/postgres"
	"github.com/lockgw/lockgw/backend/postgres/pgtest"
)

// The storm over a real PostgreSQL, with faults and without.
func TestStormOnPostgres(t *testing.T) {
	s := pgtest.Start(t)
	t.Cleanup(pgtest.RemoveTemplate)
	for name, mode := range map[string]backend.Mode{"locks": backend.Exclusive, "shared": backend.Shared, "semaphores": 3} {
		for _, faults := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, faults %v", name, faults), func(t *testing.T) {
				t.Parallel()
				url := fmt.Sprintf("%s&pool_max_conns=4&schema=%s_%v", s.URL(), name, faults)
				runStorm(t, mode, faults, func(node string) ledger.Table {
					table, err := postgres.OpenTable(postgres.Config{URL: url, Node: backend.Node{ID: name + node + fmt.Sprint(faults)}})
					if err != nil {
						t.Fatal(err)
					}
					return table
				})
			})
		}
	}
}
