package etcd

import (
	"context"
	"errors"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/quorum"
)

// renewTogether is how many records are read at once: etcd takes 128 in a transaction.
const renewTogether = 100

// Renew implements ledger.Table. It reads the records, and then has the leases that they
// name last for longer. The order does not matter: a lease that etcd has prolonged has not
// expired before, so that nobody can have taken what was under it when it was read.
func (t *Table) Renew(ctx context.Context, rs []ledger.Renewal) ([]error, error) {
	errs := make([]error, len(rs))
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
	if len(rs) == 1 && errs[0] != nil && !errors.Is(errs[0], backend.ErrNotHeld) {
		return nil, errs[0]
	}
	return errs, nil
}

// renew has the hold that r names last for longer, which is in the row as it was read.
func (t *Table) renew(ctx context.Context, c *clientv3.Client, r ledger.Renewal, is row) error {
	for range quorum.Tries {
		if !is.Holds(r.ID) {
			return backend.ErrNotHeld
		}
		e, _ := is.Ends.Find(r.ID)
		ttl := max(e.TTL, r.TTL)
		own, err := t.leases.take(ctx, c, ttl)
		if err != nil || under(own.id) == e.Under {
			return err
		}
		// It is under a lease for a shorter time, or one that an earlier process had: the row
		// is written again, and its version stays.
		w := &write{t: t, name: r.Name, base: is.at(), own: own, row: row{Row: is.Renewed(quorum.End{ID: r.ID, TTL: ttl, Under: under(own.id)}, is.version())}}
		found, err := w.commit(ctx, c)
		switch {
		case errors.Is(err, errExpired):
			own.gone()
			continue
		case err != nil || found.written != 0:
			return err
		case own.known && !found.alive:
			own.gone()
		}
		is = found.row
	}
	return fmt.Errorf("%w: others write the record of %s all the time", backend.ErrRefused, r.Name)
}
