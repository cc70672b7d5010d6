package zookeeper

import (
	"testing"

	"github.com/lockgw/lockgw/backend/quorum/quorumtest"
	"github.com/lockgw/lockgw/backend/servertest"
	"github.com/lockgw/lockgw/backend/zookeeper/zktest"
)

// A ZooKeeper whose disk is full ends itself.
func TestDiskIsFull(t *testing.T) {
	t.Parallel()
	s := zktest.StartWith(t, func(dir string) { servertest.SmallDisk(t, dir, "96m") })
	a, b := listen(t, zktest.URL("full", s), "a"), listen(t, zktest.URL("full", s), "b")
	quorumtest.DiskIsFull(t, &s.Keeper, a.Client, b.Client)
}
