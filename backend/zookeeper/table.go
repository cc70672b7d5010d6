// Package zookeeper is a store in ZooKeeper: an ensemble that agrees on every write, so that
// a minority of its members may be down without a grant being forgotten.
//
// A gateway has one session. A znode that lives as long as the session proves that the
// gateway does, and whoever takes a name from a dead one proves in the same write that the
// znode is gone.
package zookeeper

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockgw/lockgw/backend/boottime"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/quorum"
)

// Config of a Table. URL is zookeeper://[user:password@]host[:2181][,host...][/chroot], with, in
// the query, session, tick, tls, ca_file, cert_file and key_file.
type Config = quorum.Config

// Table keeps the records of package ledger in ZooKeeper, as one node sees them.
type Table struct {
	quorum.Gateway
	addr  address
	paths paths
	acl   []zk.ACL

	listening *quorum.Listening[*session]
	stakes    stakes
	remains   remains
	posted    posted
	unused    quorum.Unused[place]
	guard     guard
	told      func(ledger.Addressed) // set by Listen
}

var _ ledger.Table = (*Table)(nil)

// OpenTable makes the Table of a node. It does not wait for ZooKeeper to be there. Errors are
// of the configuration.
func OpenTable(cfg Config) (*Table, error) {
	a, err := parseAddress(cfg.URL)
	if err != nil {
		return nil, err
	}
	t := &Table{addr: a, paths: paths{"/" + a.Path, cfg.KeyPrefix}, acl: zk.WorldACL(zk.PermAll), told: func(ledger.Addressed) {}}
	if a.named() {
		t.acl = zk.AuthACL(zk.PermAll)
	}
	t.Init(cfg, "zookeeper")
	t.listening = quorum.NewListening[*session](quorum.Listens{
		Store: "ZooKeeper", Over: "the session with ZooKeeper is over, and another one begins", Log: t.Log,
	})
	t.remains.t = t
	t.posted.me, t.guard.me = rand.Text(), rand.Text()
	t.guard.since = quorum.Clock()
	return t, nil
}

// Close implements ledger.Table. While it holds something its session is left to expire: the
// next process of the node may take up what it holds.
func (t *Table) Close() error {
	t.Stop()
	return nil
}

// Ping implements ledger.Table: a majority of the members answers.
func (t *Table) Ping(ctx context.Context) error {
	s, err := t.listening.Wait(ctx)
	if err != nil {
		return err
	}
	if err := s.sync(ctx, t.paths.root); err != nil {
		return settled(err)
	}
	if err := t.distrust(); err != nil {
		return err
	}
	return t.listening.Trouble()
}

// now is the time of deadlines.
func now() time.Duration { return boottime.Now() }
