package zookeeper

import (
	"errors"
	"testing"

	"github.com/lockgw/lockgw/backend/quorum/quorumtest"
	"github.com/lockgw/lockgw/backend/zookeeper/zktest"
)

// The record of a name goes for which only the dead wait.
func TestSweepOfWaiters(t *testing.T) {
	t.Parallel()
	url := zktest.URL(chroot("waiters"), zktest.Shared(t))
	a, b, dead := listen(t, url, "a"), listen(t, url, "b"), listen(t, brief(url), "dead")
	quorumtest.LeftWaiting(t, a.Client, b.Client, dead.Client, func() error {
		return errors.Join(a.scan(t.Context()), a.listening.Present().deleteAll(t.Context(), a.due(0)))
	})
}
