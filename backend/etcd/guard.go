package etcd

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/lockgw/lockgw/backend/quorum"
)

// guard notices that etcd was restored from an older copy, and may have forgotten who holds
// what. Then nothing new is granted until the last lease that it may have forgotten is over,
// while holders may write down again what they hold.
//
// It shows by a cluster id other than the one in the store, or by a revision below one that
// this process has seen. A process that has heard of it makes the key quarantine, which
// every write that grants compares. So that no write comes before somebody has looked, it
// also compares that the key of this node's messages has not gone back: that is written
// every ten seconds at least.
type guard struct {
	mu      sync.Mutex // guards the fields below
	newest  int64      // revision that this process has seen
	cluster uint64     // 0: not known yet
	pulse   int64      // revision of the key of this node's messages
	until   time.Duration
}

// saw notes the header of an answer.
func (g *guard) saw(h *pb.ResponseHeader) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.newest = max(g.newest, h.Revision)
}

// beat notes the revision of the key of this node's messages.
func (g *guard) beat(rev int64, anew bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.newest = max(g.newest, rev)
	if anew || rev > g.pulse {
		g.pulse = rev
	}
}

// seen are the newest revision so far, and that of the key of this node's messages. An answer to what
// is sent after that has them, or later ones.
func (g *guard) seen() (newest, pulse int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.newest, g.pulse
}

// older says that h is that of a store older than the one that had the revision newest.
func (g *guard) older(h *pb.ResponseHeader, newest int64) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.cluster != 0 && g.cluster != h.ClusterId || h.Revision < newest
}

// take takes the store of h for the present one. back: it is older than the one before.
func (g *guard) take(h *pb.ResponseHeader, back bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.cluster = h.ClusterId; back {
		g.newest, g.pulse = h.Revision, 0 // until the key of this node's messages is made anew
	}
}

// proof is what has to be so for a grant.
func (t *Table) proof() []clientv3.Cmp {
	_, pulse := t.guard.seen()
	return []clientv3.Cmp{
		clientv3.Compare(clientv3.CreateRevision(t.keys.quarantine()), "=", 0),
		clientv3.Compare(clientv3.ModRevision(t.keys.mail(t.Node())), ">", pulse-1),
	}
}

// distrust is why nothing new is granted; nil: it is.
func (t *Table) distrust() error {
	t.guard.mu.Lock()
	defer t.guard.mu.Unlock()
	return quorum.Restored("etcd", t.guard.until-now())
}

// inspect compares etcd with what this process and the key cluster know of it.
func (t *Table) inspect(ctx context.Context, c *clientv3.Client) error {
	newest, pulse := t.guard.seen()
	r, err := c.Get(ctx, t.keys.cluster())
	if err != nil {
		return outcome(ctx, err)
	}
	own, err := c.Get(ctx, t.keys.mail(t.Node()), clientv3.WithKeysOnly())
	if err != nil {
		return outcome(ctx, err)
	}
	was, is := only(r.Kvs), strconv.FormatUint(r.Header.ClusterId, 16)
	rev := int64(0)
	if was != nil {
		rev = was.ModRevision
	}
	before := clientv3.Compare(clientv3.ModRevision(t.keys.cluster()), "=", rev)
	kv := only(own.Kvs)
	back := t.guard.older(r.Header, newest) || kv != nil && kv.ModRevision < pulse
	switch {
	case was != nil && string(was.Value) != is, back:
		t.Log.Warn("etcd was restored from an older copy; no new locks are granted until all that may have been forgotten is over", "for", t.Lease)
		lease, err := c.Grant(ctx, int64(classOf(t.Lease)/time.Second))
		if err != nil {
			return outcome(ctx, err)
		}
		ops := []clientv3.Op{clientv3.OpPut(t.keys.cluster(), is), clientv3.OpPut(t.keys.quarantine(), t.Node(), clientv3.WithLease(lease.ID))}
		switch w, err := c.Txn(ctx).If(before).Then(ops...).Commit(); {
		case err != nil:
			return outcome(ctx, err)
		case !w.Succeeded: // it may have noticed nothing, so that it is looked at again
			return errors.New("another gateway has written at the same time which etcd it is")
		}
	case was == nil:
		if _, err := c.Txn(ctx).If(before).Then(clientv3.OpPut(t.keys.cluster(), is)).Commit(); err != nil {
			return outcome(ctx, err)
		}
	}
	t.guard.take(r.Header, back) // not before everybody knows
	q, err := c.Get(ctx, t.keys.quarantine())
	if err != nil {
		return outcome(ctx, err)
	}
	return t.quarantined(ctx, c, q)
}

// quarantined notes that the key of the quarantine was read, and how long it lasts.
func (t *Table) quarantined(ctx context.Context, c *clientv3.Client, q *clientv3.GetResponse) error {
	until := time.Duration(0)
	if kv := only(q.Kvs); kv != nil {
		r, err := c.TimeToLive(ctx, clientv3.LeaseID(kv.Lease))
		if err != nil {
			return outcome(ctx, err)
		}
		until = now() + time.Duration(max(r.TTL, 0)+1)*time.Second
	}
	t.guard.mu.Lock()
	defer t.guard.mu.Unlock()
	t.guard.until = until
	return nil
}
