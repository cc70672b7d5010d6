package etcd

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/quorum"
)

const (
	// sweepTogether is how many records are deleted at once; etcd takes 128.
	sweepTogether = 100
	scanTogether  = 500
)

// leftover is where a record was left that nobody uses.
type leftover struct {
	at  at
	top backend.Fence
}

// due are the records of which nobody has heard for long enough.
func (t *Table) due(after time.Duration) map[string]leftover {
	some := map[string]leftover{}
	t.unused.Due(after, func(name string, at leftover) bool {
		if len(some) == sweepTogether {
			return false
		}
		some[name] = at
		return true
	})
	return some
}

// sweep deletes records that nobody uses.
func (t *Table) sweep(ctx context.Context) error {
	for {
		some := t.due(quorum.SweepAfter)
		if len(some) == 0 {
			return nil
		}
		if err := t.delete(ctx, some); err != nil {
			return err // they stay until somebody uses them again
		}
	}
}

// scan looks through all records for those that nobody uses, or of which all who do are dead.
func (t *Table) scan(ctx context.Context) error {
	c, err := t.link.client(ctx)
	if err != nil {
		return err
	}
	return t.each(ctx, c, func(name string, is *row) error {
		over, err := t.over(ctx, c, name, is)
		if over {
			t.unused.Found(name, leftover{is.at(), is.Record.Top})
		}
		return err
	}, clientv3.WithSerializable())
}

// each has f look at the records of all names.
func (t *Table) each(ctx context.Context, c *clientv3.Client, f func(name string, is *row) error, how ...clientv3.OpOption) error {
	all := t.keys.record("")
	how = append(how, clientv3.WithRange(clientv3.GetPrefixRangeEnd(all)), clientv3.WithLimit(scanTogether))
	for begin := all; ; {
		r, err := c.Get(ctx, begin, how...)
		if err != nil {
			return outcome(ctx, err)
		}
		for _, kv := range r.Kvs {
			begin = string(kv.Key) + "\x00"
			is, err := t.readRow(kv)
			if err != nil {
				continue // it is not lockgw's
			}
			if err := f(strings.TrimPrefix(string(kv.Key), all), &is); err != nil {
				return err
			}
		}
		if !r.More {
			return nil
		}
	}
}

// Newest implements floor.Keeper.
func (t *Table) Newest(ctx context.Context) (newest backend.Fence, err error) {
	c, err := t.link.client(ctx)
	if err != nil {
		return 0, err
	}
	err = t.each(ctx, c, func(_ string, is *row) error {
		newest = max(newest, is.Record.Top)
		return nil
	})
	if err != nil {
		return 0, err
	}
	r, err := c.Get(ctx, t.keys.mark()) // last: a record that was deleted meanwhile is in it
	if err != nil {
		return 0, outcome(ctx, err)
	}
	t.mark.found((*pb.RangeResponse)(r))
	_, mark := t.mark.get()
	return max(newest, mark), nil
}

// over: nobody uses the name.
func (t *Table) over(ctx context.Context, c *clientv3.Client, name string, is *row) (bool, error) {
	there := func(key string) (bool, error) {
		r, err := c.Get(ctx, key, clientv3.WithCountOnly())
		return err == nil && r.Count > 0, outcome(ctx, err)
	}
	return is.Over(func(e quorum.End) (time.Duration, error) {
		if e.Under == "" {
			return t.remains.clocks.Left(name, e), nil
		}
		if lives, err := there(t.keys.alive(e.Under)); err != nil || !lives {
			return 0, err
		}
		return max(e.TTL, 1), nil
	}, func(node string) (bool, error) { return there(t.keys.mail(node)) })
}

// delete deletes the records that are as they were left. No fence of one that is made later
// is below theirs: the mark is raised in the same transaction.
func (t *Table) delete(ctx context.Context, some map[string]leftover) error {
	c, err := t.link.client(ctx)
	if err != nil {
		return err
	}
	ops := []clientv3.Op{}
	top := backend.Fence(0)
	for _, name := range slices.Sorted(maps.Keys(some)) {
		l := some[name]
		top = max(top, l.top)
		key := t.keys.record(name)
		ops = append(ops, clientv3.OpTxn(l.at.is(key), []clientv3.Op{clientv3.OpDelete(key)}, nil))
	}
	for range quorum.Tries {
		mark, fence := t.mark.get()
		then := ops
		if top > fence {
			then = append([]clientv3.Op{clientv3.OpPut(t.keys.mark(), strconv.FormatUint(uint64(top), 10))}, ops...)
		}
		r, err := c.Txn(ctx).If(mark.is(t.keys.mark())...).Then(then...).Else(clientv3.OpGet(t.keys.mark())).Commit()
		if err != nil {
			return outcome(ctx, err)
		}
		if r.Succeeded {
			return nil
		}
		t.mark.found(r.Responses[0].GetResponseRange())
	}
	return backend.ErrRefused
}

// mark is what no fence of a record that was deleted is above, as far as it is known here.
type mark struct {
	mu    sync.Mutex // guards the fields below
	at    at         // of the key
	fence backend.Fence
}

func (m *mark) get() (is at, fence backend.Fence) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.at, m.fence
}

// found: that is at the key.
func (m *mark) found(r *pb.RangeResponse) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at = at{}
	if kv := only(r.Kvs); kv != nil {
		var f backend.Fence
		_ = json.Unmarshal(kv.Value, &f) // if that is no number, what was known stays
		m.at, m.fence = at{kv.ModRevision, string(kv.Value)}, max(m.fence, f)
	}
}
