package engine_test

import (
	"testing"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/zookeeper"
	"github.com/lockgw/lockgw/backend/zookeeper/zktest"
)

// The storm over a real ZooKeeper, with faults and without.
func TestStormOnZooKeeper(t *testing.T) {
	s := zktest.Start(t)
	for name, mode := range map[string]backend.Mode{"locks": backend.Exclusive, "shared": backend.Shared, "semaphores": 3} {
		for at, faults := range map[string]bool{name: false, name + "-faults": true} { // each storm has the place to itself
			t.Run(at, func(t *testing.T) {
				t.Parallel()
				runStorm(t, mode, faults, func(node string) ledger.Table {
					table, err := zookeeper.OpenTable(zookeeper.Config{URL: zktest.URL(at, s), Node: backend.Node{ID: node}})
					if err != nil {
						t.Fatal(err)
					}
					return table
				})
			})
		}
	}
}
