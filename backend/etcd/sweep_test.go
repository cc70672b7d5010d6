package etcd

import (
	"errors"
	"testing"

	"github.com/lockgw/lockgw/backend/etcd/etcdtest"
	"github.com/lockgw/lockgw/backend/quorum/quorumtest"
)

// The record of a name goes for which only the dead wait.
func TestSweepOfWaiters(t *testing.T) {
	t.Parallel()
	url := etcdtest.URL(etcdtest.Start(t))
	a, b, dead := listen(t, url, "a"), listen(t, url, "b"), listen(t, url, "dead")
	quorumtest.LeftWaiting(t, a.Client, b.Client, dead.Client, func() error {
		return errors.Join(a.scan(t.Context()), a.delete(t.Context(), a.due(0)))
	})
}
