package engine_test

import (
	"fmt"
	"testing"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/mysql"
	"github.com/lockgw/lockgw/backend/mysql/mysqltest"
)

// The storm over a real MariaDB or MySQL, with faults and without.
func TestStormOnMySQL(t *testing.T) {
	s := mysqltest.Start(t)
	t.Cleanup(mysqltest.RemoveTemplate)
	for name, mode := range map[string]backend.Mode{"locks": backend.Exclusive, "shared": backend.Shared, "semaphores": 3} {
		for _, faults := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, faults %v", name, faults), func(t *testing.T) {
				t.Parallel()
				id := fmt.Sprintf("%s-%v:", name, faults)
				runStorm(t, mode, faults, func(node string) ledger.Table {
					table, err := mysql.OpenTable(mysql.Config{URL: s.URL() + "&pool_max_conns=4", KeyPrefix: id, Node: backend.Node{ID: id + node}})
					if err != nil {
						t.Fatal(err)
					}
					return table
				})
			})
		}
	}
}
