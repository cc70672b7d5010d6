package zookeeper

import (
	"context"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/tabletest"
	"github.com/lockgw/lockgw/backend/zookeeper/zktest"
)

// What requests cost, beside ZooKeeper's own.
//
//	go test -run - -bench Table ./backend/zookeeper
func BenchmarkTable(b *testing.B) {
	s := zktest.StartDurable(b)
	c := zktest.Client(b, s)
	if _, err := c.Create("/x", nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
		b.Fatal(err)
	}
	version := int32(0)
	tabletest.Bench{
		Open: func(node string) (ledger.Table, error) {
			return OpenTable(Config{URL: zktest.URL("bench", s), Node: backend.Node{ID: node}, Lease: time.Second})
		},
		Trip: func(context.Context) error { _, _, err := c.Exists("/x"); return err },
		Write: func(context.Context) error {
			st, err := c.Set("/x", []byte("y"), version)
			if err == nil {
				version = st.Version
			}
			return err
		},
	}.Run(b)
}
