package engine_test

import (
	"fmt"
	"testing"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/etcd"
	"github.com/lockgw/lockgw/backend/etcd/etcdtest"
	"github.com/lockgw/lockgw/backend/ledger"
)

// The storm over a real etcd, with faults and without.
func TestStormOnEtcd(t *testing.T) {
	s := etcdtest.Start(t)
	for name, mode := range map[string]backend.Mode{"locks": backend.Exclusive, "shared": backend.Shared, "semaphores": 3} {
		for _, faults := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, faults %v", name, faults), func(t *testing.T) {
				t.Parallel()
				url := fmt.Sprintf("%s/%s-%v", etcdtest.URL(s), name, faults) // each storm has the place to itself
				runStorm(t, mode, faults, func(node string) ledger.Table {
					table, err := etcd.OpenTable(etcd.Config{URL: url, Node: backend.Node{ID: node}})
					if err != nil {
						t.Fatal(err)
					}
					return table
				})
			})
		}
	}
}
