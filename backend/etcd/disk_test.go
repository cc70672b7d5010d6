package etcd

import (
	"testing"

	"github.com/lockgw/lockgw/backend/etcd/etcdtest"
	"github.com/lockgw/lockgw/backend/quorum/quorumtest"
	"github.com/lockgw/lockgw/backend/servertest"
)

// An etcd whose disk is full, long before its quota, ends itself. Two segments of its log have
// 64 MB each from the beginning, so that the database is what has no room.
func TestDiskIsFull(t *testing.T) {
	t.Parallel()
	s := etcdtest.StartWith(t, func(dir string) { servertest.SmallDisk(t, dir, "160m") })
	a, b := listen(t, etcdtest.URL(s), "a"), listen(t, etcdtest.URL(s), "b")
	quorumtest.DiskIsFull(t, &s.Keeper, a.Client, b.Client)
}
