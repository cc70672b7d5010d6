package etcd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/quorum"
)

// write is one transaction: what has to be so, and what is written then. If it is not so,
// there tells how it is.
type write struct {
	t    *Table
	name string
	row  row
	// If the key of the name is not so, somebody else has written it.
	base  at
	proof []clientv3.Cmp
	own   held // under which the node's own hold is
	// fresh: there was no record, so that the mark must have the revision that is known here.
	fresh bool
	mark  at
	mail  []letter
	// grants: its node holds what it did not hold before.
	grants bool
}

// there is what became of a transaction: it was written, or what it has found instead.
type there struct {
	written int64    // the revision; 0: it is not
	unheard []string // nodes with mail that do not listen

	row   row
	alive bool // the key of write.own
	// quarantine: the key is there. pulse is the revision of the node's own key.
	quarantine bool
	pulse      int64
}

// commit carries out w.
func (w *write) commit(ctx context.Context, c *clientv3.Client) (is there, err error) {
	t := w.t
	key := t.keys.record(w.name)
	when := append(w.base.is(key), w.proof...)
	then := []clientv3.Op{clientv3.OpPut(key, w.row.Text())}
	alive := t.keys.alive(under(w.own.id))
	switch {
	case w.own.l == nil:
	case w.own.known:
		when = append(when, clientv3.Compare(clientv3.CreateRevision(alive), "!=", 0))
	default:
		then = append(then, clientv3.OpPut(alive, t.Node(), clientv3.WithLease(w.own.id)))
	}
	if w.fresh {
		when = append(when, w.mark.is(t.keys.mark())...)
	}
	if w.grants {
		when = append(when, t.proof()...)
	}
	first := len(then)
	for some := range slices.Chunk(w.mail, mailTogether) {
		ops := make([]clientv3.Op, len(some))
		for i, m := range some {
			ops[i] = m.op(t.keys)
		}
		then = append(then, clientv3.OpTxn(nil, ops, nil))
	}
	r, err := c.Txn(ctx).If(when...).Then(then...).
		Else(clientv3.OpGet(key), clientv3.OpGet(alive, clientv3.WithCountOnly()), clientv3.OpGet(t.keys.mark()),
			clientv3.OpGet(t.keys.quarantine(), clientv3.WithCountOnly()), clientv3.OpGet(t.keys.mail(t.Node()), clientv3.WithKeysOnly())).Commit()
	if err != nil {
		if errors.Is(toEtcd(err), rpctypes.ErrLeaseNotFound) {
			return is, errExpired
		}
		if errors.Is(toEtcd(err), rpctypes.ErrNoSpace) {
			return is, w.noSpace(ctx, c, err)
		}
		return is, outcome(ctx, err)
	}
	if r.Succeeded {
		t.guard.saw(r.Header)
		w.own.made()
		for i, m := range w.mail {
			some := r.Responses[first+i/mailTogether].GetResponseTxn()
			if !some.Responses[i%mailTogether].GetResponseTxn().Succeeded {
				is.unheard = append(is.unheard, m.node)
			}
		}
		is.written = r.Header.Revision
		return is, nil
	}
	t.mark.found(r.Responses[2].GetResponseRange())
	is.alive = r.Responses[1].GetResponseRange().Count > 0
	is.quarantine = r.Responses[3].GetResponseRange().Count > 0
	if kv := only(r.Responses[4].GetResponseRange().Kvs); kv != nil {
		is.pulse = kv.ModRevision
	}
	is.row, err = t.readRow(only(r.Responses[0].GetResponseRange().Kvs))
	return is, err
}

// errExpired: the lease under which something was to be written has expired; nothing was
// written.
var errExpired = errors.New("the lease has expired")

// Swap implements ledger.Table.
func (t *Table) Swap(ctx context.Context, s ledger.Swap) (ledger.Reply, error) {
	if _, err := t.listening.Wait(ctx); err != nil {
		return ledger.Reply{}, err
	}
	return t.swap(ctx, s)
}

func (t *Table) swap(ctx context.Context, s ledger.Swap) (ledger.Reply, error) {
	if s.Effects.Evicts {
		return ledger.Reply{}, fmt.Errorf("%w: nobody outside lockgw has a lock in etcd", backend.ErrConflict)
	}
	c, err := t.link.client(ctx)
	if err != nil {
		return ledger.Reply{}, err
	}
	was, ok := t.seen.find(s.Name, s.Base)
	if !ok && s.Base != "" {
		is, err := t.read(ctx, c, s.Name)
		if err != nil {
			return ledger.Reply{}, quorum.Unasked(err)
		}
		if is.version() != s.Base {
			return t.reply(ctx, c, s.Name, is, false)
		}
		was.at, was.ends = is.at(), is.Ends
	}
	for range quorum.Tries {
		w, over, err := t.compose(ctx, c, s, was.at, was.ends)
		if err != nil {
			return ledger.Reply{}, err
		}
		if !over {
			return t.look(ctx, c, s.Name, false)
		}
		is, err := w.commit(ctx, c)
		switch {
		case errors.Is(err, errExpired):
			w.own.gone()
			continue
		case err != nil:
			return ledger.Reply{}, err
		case is.written != 0:
			return t.written(s.Name, w, is), nil
		}
		if is.row.version() != s.Base {
			return t.reply(ctx, c, s.Name, is.row, false)
		}
		if err := t.granting(w, is); err != nil {
			return ledger.Reply{}, err
		}
		// The same record. If it is not a hold that is not over, the write may go out again.
		again := is.row.at() != was.at
		if w.own.known && !is.alive {
			w.own.gone()
			again = true
		}
		if mark, _ := t.mark.get(); w.fresh && mark != w.mark {
			again = true
		}
		if !again {
			return t.reply(ctx, c, s.Name, is.row, true)
		}
		was.at, was.ends = is.row.at(), is.row.Ends
	}
	return ledger.Reply{}, fmt.Errorf("%w: leases in etcd expire while they are written down", backend.ErrRefused)
}

// noSpace is err, by which etcd has said that its quota is used up. It says so of the writes,
// too, that have used it up and that it has carried out (quotaApplierV3 in etcd's source), so
// it is looked whether w was.
func (w *write) noSpace(ctx context.Context, c *clientv3.Client, err error) error {
	why := outcome(ctx, err)
	r, err := c.Get(ctx, w.t.keys.record(w.name), clientv3.WithKeysOnly())
	if err == nil && only(r.Kvs).GetModRevision() == w.base.rev {
		return why
	}
	return fmt.Errorf("%w: %s", backend.ErrUnavailable, why.Error())
}

// granting is why w must not grant, by what was found in place of it.
func (t *Table) granting(w *write, is there) error {
	_, pulse := t.guard.seen()
	switch {
	case !w.grants:
		return nil
	case is.quarantine:
		if err := t.distrust(); err != nil {
			return err
		}
		t.listening.Lost(true) // it has just begun
		return fmt.Errorf("%w: etcd was restored from an older copy", backend.ErrRefused)
	case is.pulse < pulse:
		t.listening.Lost(true)
		return fmt.Errorf("%w: etcd does not have the messages of this node any more; it is looked into", backend.ErrRefused)
	}
	return nil
}

// compose makes the write of s on the row that stands there and has these ends. over: all that
// it ends by clocks is over.
func (t *Table) compose(ctx context.Context, c *clientv3.Client, s ledger.Swap, base at, was quorum.Ends) (w *write, over bool, err error) {
	w = &write{t: t, name: s.Name, base: base, fresh: s.Base == "" && !s.Absolute, grants: s.Effects.Grants}
	var ended []string
	for _, id := range s.Effects.Ended {
		e, ok := was.Find(id)
		switch {
		case !ok:
		case e.Under != "":
			ended = append(ended, e.Under)
		case t.remains.clocks.Left(s.Name, e) > 0:
			return nil, false, nil
		}
	}
	if len(ended) > mostProofs {
		if is, err := t.anyAlive(ctx, c, ended); err != nil || is {
			return nil, false, quorum.Unasked(err)
		}
		ended = nil
	}
	for _, lease := range ended {
		w.proof = append(w.proof, clientv3.Compare(clientv3.CreateRevision(t.keys.alive(lease)), "=", 0))
	}
	var top backend.Fence
	w.mark, top = t.mark.get()
	w.row.Row, err = quorum.Swapped(&s, was, t.Node(), top, func(ttl time.Duration) (e quorum.End, err error) {
		w.own, err = t.leases.take(ctx, c, ttl)
		return quorum.End{TTL: ttl, Under: under(w.own.id)}, err
	})
	if err != nil {
		return nil, false, err
	}
	w.mail = letters(quorum.About(s.Name, s.Effects.Messages), w.row.Text())
	return w, true, nil
}

// written is the reply to w, which was carried out.
func (t *Table) written(name string, w *write, is there) ledger.Reply {
	w.row.rev = is.written
	r := w.row.Reply(w.row.version())
	r.Written, r.Unheard = true, is.unheard
	t.remains.set(name, w.row.Ends, &r.Record)
	t.seen.saw(name, &w.row)
	t.unused.Note(name, &w.row.Row, leftover{w.row.at(), w.row.Record.Top})
	return r
}

// reply tells row, which may be written on next.
func (t *Table) reply(ctx context.Context, c *clientv3.Client, name string, is row, fresh bool) (ledger.Reply, error) {
	t.seen.saw(name, &is)
	return t.tell(ctx, c, name, is, fresh)
}

// tell tells row.
func (t *Table) tell(ctx context.Context, c *clientv3.Client, name string, is row, fresh bool) (ledger.Reply, error) {
	r := is.Reply(is.version())
	return r, t.remains.fill(ctx, c, name, is.Ends, &r.Record, fresh)
}
