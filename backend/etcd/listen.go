package etcd

import (
	"context"
	"errors"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/quorum"
	"github.com/lockgw/lockgw/backend/selftest"
)

// listenTTL is after which others know that a node does not listen.
const listenTTL = 6 * time.Second

// Listen implements ledger.Table.
func (t *Table) Listen(f func(ledger.Addressed)) {
	t.Work.Go(func() {
		t.listening.Run(t.Life, func(first bool) (bool, error) { return t.hear(f, first) })
	})
	t.Work.Go(func() { quorum.Sweep(t.Life, t.sweep, t.scan) })
}

// ear is one watch of the node's own key.
type ear struct {
	t     *Table
	f     func(ledger.Addressed)
	lease clientv3.LeaseID
	heard int64 // newest revision of the key that has arrived
	owed  int64 // one that a probe has seen, and that has not arrived then
}

// hear makes the key of this node and tells f what is written to it, until something goes
// wrong. began: it has come as far as to hear.
func (t *Table) hear(f func(ledger.Addressed), first bool) (began bool, err error) {
	ctx, cancel := context.WithTimeout(t.Life, listenTTL)
	defer cancel()
	c, err := t.link.client(ctx)
	if err != nil {
		return false, err
	}
	if err := t.inspect(ctx, c); err != nil {
		return false, err
	}
	grant, err := c.Grant(ctx, int64(listenTTL/time.Second))
	if err != nil {
		return false, outcome(ctx, err)
	}
	defer t.deafen(c, grant.ID)
	put, err := c.Put(ctx, t.keys.mail(t.Node()), "{}", clientv3.WithLease(grant.ID))
	if err != nil {
		return false, outcome(ctx, err)
	}
	t.guard.beat(put.Header.Revision, true)
	if first {
		if err := selftest.Run(ctx, selftest.Store{Look: t.Look, Swap: t.swap}, t.Node()); err != nil {
			return false, err
		}
	}
	e := &ear{t: t, f: f, lease: grant.ID, heard: put.Header.Revision}
	life, stop := context.WithCancel(clientv3.WithRequireLeader(t.Life))
	defer stop()
	// A revision that is past by now is served some 100 ms late, once.
	events := c.Watch(life, t.keys.mail(t.Node()), clientv3.WithRev(e.heard+1))
	t.listening.Ready(true)
	if !first {
		f(ledger.Addressed{Message: ledger.Message{Node: t.Node(), Kind: ledger.Resync}})
	}
	return true, e.listen(life, c, events)
}

// deafen has others know at once that this node does not listen, if it has closed.
func (t *Table) deafen(c *clientv3.Client, id clientv3.LeaseID) {
	if t.Life.Err() == nil {
		return // the next one takes the key over
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Life), time.Second)
	defer cancel()
	_, _ = c.Revoke(ctx, id)
}

func (e *ear) listen(ctx context.Context, c *clientv3.Client, events clientv3.WatchChan) error {
	tick := time.NewTicker(quorum.ProbeEvery)
	defer tick.Stop()
	probed := make(chan probed, 1)
	busy := false
	for n := 1; ; {
		select {
		case <-e.t.listening.Kicked():
			return errors.New("etcd does not have the key of this node's messages as it was")
		case <-ctx.Done():
			return ctx.Err()
		case r, ok := <-events:
			if !ok {
				return errors.New("etcd has ended the watch")
			}
			if err := r.Err(); err != nil {
				return outcome(ctx, err)
			}
			if err := e.take(r); err != nil {
				return err
			}
		case <-tick.C:
			if e.owed > e.heard {
				return errors.New("etcd has not told a message that it has")
			}
			if !busy {
				busy = true
				n++
				writes := n%quorum.WritesEvery == 0
				e.t.Work.Go(func() { probed <- e.probe(ctx, c, writes) })
			}
		case p := <-probed:
			if busy, e.owed = false, p.rev; p.err != nil {
				return p.err
			}
		}
	}
}

// probed is the answer to a probe.
type probed struct {
	rev int64 // of the last write to the key
	err error
}

// probe keeps the key of the node alive, and asks what was written to it last.
func (e *ear) probe(ctx context.Context, c *clientv3.Client, writes bool) probed {
	ctx, cancel := context.WithTimeout(ctx, quorum.ProbeTime)
	defer cancel()
	if _, err := e.t.link.keepAlive(ctx, e.lease); err != nil {
		return probed{err: err}
	}
	key := e.t.keys.mail(e.t.Node())
	then := []clientv3.Op{clientv3.OpGet(key, clientv3.WithKeysOnly()), clientv3.OpGet(e.t.keys.quarantine())}
	if writes {
		then = append(then, clientv3.OpPut(key, "{}", clientv3.WithIgnoreLease()))
	}
	newest, pulse := e.t.guard.seen()
	r, err := c.Txn(ctx).If(clientv3.Compare(clientv3.CreateRevision(key), "!=", 0)).Then(then...).Commit()
	switch {
	case err != nil:
		return probed{err: outcome(ctx, err)}
	case e.t.guard.older(r.Header, newest):
		return probed{err: errors.New("etcd has gone back")}
	case !r.Succeeded:
		return probed{err: errors.New("the key of this node's messages was deleted, or has expired")}
	}
	rev := r.Responses[0].GetResponseRange().Kvs[0].ModRevision
	if rev < pulse {
		return probed{err: errors.New("etcd has gone back")}
	}
	if writes {
		rev = r.Header.Revision
		e.t.guard.beat(rev, false)
	}
	return probed{rev: rev, err: e.t.quarantined(ctx, c, (*clientv3.GetResponse)(r.Responses[1].GetResponseRange()))}
}

// take tells what was written.
func (e *ear) take(r clientv3.WatchResponse) error {
	for _, ev := range r.Events {
		e.heard = max(e.heard, ev.Kv.ModRevision)
		e.t.guard.beat(e.heard, false)
		if ev.Type == clientv3.EventTypeDelete {
			return errors.New("the key of this node's messages was deleted, or has expired")
		}
		for _, m := range e.t.open(ev.Kv.Value, ev.Kv.ModRevision) {
			e.f(m)
		}
	}
	return nil
}
