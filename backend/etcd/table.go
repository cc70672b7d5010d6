// Package etcd is a store in etcd: a cluster that agrees by consensus on every write, so that
// a minority of its members may be down without a grant being forgotten.
package etcd

import (
	"context"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/lockgw/lockgw/backend/boottime"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/quorum"
)

// Config of a Table. URL is etcd://[user:password@]host[:2379][,host...][/prefix], with, in the
// query, tls, ca_file, cert_file and key_file.
type Config = quorum.Config

// Table keeps the records of package ledger in etcd, as one node sees them.
type Table struct {
	quorum.Gateway
	keys keys
	link link

	leases    leases
	remains   remains
	seen      seen
	mark      mark
	unused    quorum.Unused[leftover]
	listening *quorum.Listening[bool] // true: the node listens, or has
	guard     guard
}

var _ ledger.Table = (*Table)(nil)

// OpenTable makes the Table of a node. It does not wait for etcd to be there. Errors are of
// the configuration.
func OpenTable(cfg Config) (*Table, error) {
	a, err := scheme.Parse(cfg.URL)
	if err != nil {
		return nil, err
	}
	t := &Table{keys: keys{a.Path + "/", cfg.KeyPrefix}}
	t.Init(cfg, "etcd")
	t.link = newLink(func() (*clientv3.Client, error) { return connect(context.Background(), a, cfg.Password) })
	t.leases.t = t
	t.listening = quorum.NewListening[bool](quorum.Listens{
		Store: "etcd", Over: "messages of other gateways may have been missed", Stays: true, Log: t.Log,
	})
	return t, nil
}

// Close implements ledger.Table. Leases are left to expire: the next process of the node
// may take up what they are of.
func (t *Table) Close() error {
	t.Stop()
	t.link.close()
	return nil
}

// Ping implements ledger.Table: a majority of the members answers, and takes writes.
func (t *Table) Ping(ctx context.Context) error {
	c, err := t.link.client(ctx)
	if err != nil {
		return err
	}
	if _, err := c.Get(ctx, t.keys.mark()); err != nil {
		return outcome(ctx, err)
	}
	if err := t.distrust(); err != nil {
		return err
	}
	return t.listening.Trouble()
}

// keys are those of a store. All begin with the prefix of the address:
//
//	l/<name>      the record of a name, for a minute after its last use
//	alive/<lease> is there while holds under that lease are not over
//	mail/<node>   is there while the node listens; a write to it is a message to the node
//	mark          no fence of a record that was deleted is above it
//	cluster       the id of the cluster that the locks were granted by
//	quarantine    is there while nothing new is granted
type keys struct{ site, names string }

func (k keys) record(name string) string { return k.site + "l/" + k.names + name }
func (k keys) alive(lease string) string { return k.site + "alive/" + lease }
func (k keys) mail(node string) string   { return k.site + "mail/" + node }
func (k keys) mark() string              { return k.site + "mark" }
func (k keys) cluster() string           { return k.site + "cluster" }
func (k keys) quarantine() string        { return k.site + "quarantine" }

// now is the time of deadlines.
func now() time.Duration { return boottime.Now() }
