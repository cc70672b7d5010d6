package etcd

import (
	"context"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

// renewTogether is how many records are read at once: etcd takes 128 in a transaction.
const renewTogether = 100

// Renew implements ledger.Table. It reads the records, and then has the leases that they
// name last for longer. The order does not matter: a lease that etcd has prolonged has not
// expired before, so that nobody can have taken what was under it when it was read.
func (t *Table) Renew(ctx context.Context, rs []ledger.Renewal) ([]error, error) {
	errs := make([]error, len(rs))
	if len(rs) == 0 {
		return errs, nil
	}
	c, err := t.link.client(ctx)
	if err != nil {
		return nil, err
	}
	for begin := 0; begin < len(rs); begin += renewTogether {
		some := rs[begin:min(begin+renewTogether, len(rs))]
		gets := make([]clientv3.Op, len(some))
		for i, r := range some {
			gets[i] = clientv3.OpGet(t.keys.record(r.Name))
		}
		a, err := c.Txn(ctx).Then(gets...).Commit()
		if err != nil {
			return nil, outcome(ctx, err)
		}
		_ = backend.Each(len(some), func(i int) error {
			is, err := t.readRow(only(a.Responses[i].GetResponseRange().Kvs))
			if err == nil {
				err = t.renew(ctx, c, some[i], is)
			}
			errs[begin+i] = err
			return nil
		})
	}
	if len(rs) == 1 && errs[0] != nil && !isNotHeld(errs[0]) {
		return nil, errs[0]
	}
	return errs, nil
}

// renew has the hold that r names last for longer, which is in the row as it was read.
func (t *Table) renew(ctx context.Context, c *clientv3.Client, r ledger.Renewal, is row) error {
	for range tries {
		i := holdOf(&is.record, r.ID)
		if i < 0 {
			return backend.ErrNotHeld
		}
		e, _ := is.ends.find(r.ID)
		ttl := max(e.ttl, r.TTL)
		own, err := t.leases.take(ctx, c, ttl)
		if err != nil || own.id == e.lease {
			return err
		}
		// It is under a lease for a shorter time, or one that an earlier process had: the row
		// is written again, and its version stays.
		w := &write{t: t, name: r.Name, base: is.rev, own: own, row: row{record: is.record, kept: is.version()}}
		for _, x := range is.ends {
			if x.id != r.ID {
				w.row.ends = append(w.row.ends, x)
			}
		}
		w.row.ends = append(w.row.ends, end{id: r.ID, ttl: ttl, lease: own.id})
		if w.text, err = w.row.encode(); err != nil {
			return err
		}
		rev, _, found, err := w.commit(ctx, c)
		switch {
		case isExpired(err):
			own.gone()
		case err != nil || rev != 0:
			return err
		case own.known && !found.alive:
			own.gone()
			is = found.row
		default:
			is = found.row
		}
	}
	return fmt.Errorf("%w: others write the record of %s all the time", backend.ErrRefused, r.Name)
}

// holdOf is the place of a hold that can be renewed; -1: there is none.
func holdOf(r *ledger.Record, id backend.Fence) int {
	for i := range r.Holds {
		if h := &r.Holds[i]; h.ID == id && id != 0 && !h.Offered {
			return i
		}
	}
	return -1
}
