package etcd

import (
	"context"
	"errors"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/etcd/etcdtest"
	"github.com/lockgw/lockgw/backend/ledger"
)

// heedless is a store that is said to speak as etcd does, and looks at no comparison.
type heedless struct{ clientv3.KV }

type heedlessTxn struct{ clientv3.Txn }

func (h heedless) Txn(ctx context.Context) clientv3.Txn    { return heedlessTxn{h.KV.Txn(ctx)} }
func (x heedlessTxn) If(...clientv3.Cmp) clientv3.Txn      { return x }
func (x heedlessTxn) Then(ops ...clientv3.Op) clientv3.Txn { return heedlessTxn{x.Txn.Then(ops...)} }

// A store that does not compare is found out before the first lock is granted.
func TestSelfTest(t *testing.T) {
	t.Parallel()
	s := etcdtest.Start(t)
	listen(t, etcdtest.URL(s), "a").Take("n")
	table := open(t, etcdtest.URL(s), "b")
	connect := table.link.open
	table.link.open = func() (*clientv3.Client, error) {
		c, err := connect()
		if err == nil {
			c.KV = heedless{c.KV}
		}
		return c, err
	}
	b := listens(t, table)
	for range 3 {
		if r, err := b.Try("n", ledger.Op{Want: 1}); !errors.Is(err, backend.ErrRefused) || !strings.Contains(err.Error(), "compare-and-set does not work") {
			t.Errorf("a store that compares nothing: %+v, %v", r, err)
		}
	}
	if err := b.Ping(t.Context()); err == nil || !strings.Contains(err.Error(), "compare-and-set does not work") {
		t.Errorf("ping = %v", err)
	}
}
