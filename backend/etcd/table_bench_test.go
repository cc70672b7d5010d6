package etcd

import (
	"context"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/etcd/etcdtest"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/tabletest"
)

// What requests cost, beside etcd's own.
//
//	go test -run - -bench Table ./backend/etcd
func BenchmarkTable(b *testing.B) {
	s := etcdtest.Start(b)
	c := etcdtest.Client(b, s)
	rev := int64(0)
	tabletest.Bench{
		Open: func(node string) (ledger.Table, error) {
			return OpenTable(Config{URL: etcdtest.URL(s), Node: backend.Node{ID: node}, Lease: time.Second})
		},
		Trip: func(ctx context.Context) error { _, err := c.Get(ctx, "x"); return err },
		Write: func(ctx context.Context) error {
			r, err := c.Txn(ctx).If(clientv3.Compare(clientv3.ModRevision("x"), "=", rev)).Then(clientv3.OpPut("x", "y")).Commit()
			if err == nil {
				rev = r.Header.Revision
			}
			return err
		},
	}.Run(b)
}
