package zookeeper

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/boottime"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/quorum"
)

// Config of a store.
type Config struct {
	// URL is zookeeper://[user:password@]host[:2181][,host...][/chroot], with, in the query,
	// session, tick, tls, ca_file, cert_file and key_file.
	URL       string
	KeyPrefix string // before every lock name
	Node      backend.Node
	// Lease is the longest lease in use: the session is to last so long where the servers let
	// it, and for so long nothing new is granted after ZooKeeper was restored from an older copy.
	Lease time.Duration
	Log   *slog.Logger // nil: none
}

// Table keeps the records of package ledger in ZooKeeper, as one node sees them.
type Table struct {
	cfg   Config
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

	life context.Context // ends with Close
	end  context.CancelFunc
	work sync.WaitGroup
}

var _ ledger.Table = (*Table)(nil)

// OpenTable makes the Table of a node. It does not wait for ZooKeeper to be there. Errors are
// of the configuration.
func OpenTable(cfg Config) (*Table, error) {
	a, err := parseAddress(cfg.URL)
	if err != nil {
		return nil, err
	}
	cfg.Lease = cmp.Or(cfg.Lease, 30*time.Second)
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	t := &Table{cfg: cfg, addr: a, paths: paths{"/" + a.Path, cfg.KeyPrefix}, acl: zk.WorldACL(zk.PermAll), told: func(ledger.Addressed) {}}
	if a.named() {
		t.acl = zk.AuthACL(zk.PermAll)
	}
	t.life, t.end = context.WithCancel(context.Background())
	t.listening = quorum.NewListening[*session](quorum.Listens{
		Store: "ZooKeeper", Over: "the session with ZooKeeper is over, and another one begins", Unsent: unasked, Log: cfg.Log,
	})
	t.remains.t = t
	t.posted.me, t.guard.me = newSession(), newSession()
	t.guard.since = quorum.Clock()
	return t, nil
}

// Node implements ledger.Table.
func (t *Table) Node() string { return t.cfg.Node.ID }

// Info implements ledger.Table. Only what was restored from an older copy may have forgotten.
func (t *Table) Info() backend.Info {
	return backend.Info{Type: "zookeeper", Fencing: true, Queue: true, Push: true, Shared: true, Modes: true, Restores: true}
}

// Close implements ledger.Table. While it holds something its session is left to expire: the
// next process of the node may take up what it holds.
func (t *Table) Close() error {
	t.end()
	t.work.Wait()
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
