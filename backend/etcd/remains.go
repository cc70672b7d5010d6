package etcd

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/quorum"
)

// remains is how long holds last that are seen in records.
type remains struct {
	clocks quorum.Clocks

	mu     sync.Mutex // guards the field below
	leases map[string]expiry
}

// expiry of a lease, as etcd has told it.
type expiry struct {
	at   time.Duration // at the latest, unless somebody prolongs it
	ttl  time.Duration
	gone bool // it has expired, and never comes back
}

// mostRemains bounds what is remembered of leases. What is forgotten is asked for again.
const mostRemains = 10_000

// fill sets the ends in record, from now on. Of leases that were asked about before and have
// not expired since, etcd is asked again only if fresh: they may last longer by now.
func (r *remains) fill(ctx context.Context, c *clientv3.Client, name string, es quorum.Ends, record *ledger.Record, fresh bool) error {
	var ask []string
	for _, e := range es {
		if x, ok := r.known(e.Under); e.Under != "" && (!ok || fresh && !x.gone) {
			ask = append(ask, e.Under)
		}
	}
	err := backend.Each(len(ask), func(i int) error { return r.ask(ctx, c, ask[i]) })
	if err != nil {
		return err
	}
	r.set(name, es, record)
	return nil
}

// set sets the ends in record without asking: a lease that nobody has asked about may last
// for all of the ttl.
func (r *remains) set(name string, es quorum.Ends, record *ledger.Record) {
	es.Fill(record, func(e quorum.End) time.Duration {
		if e.Under == "" {
			return r.clocks.Left(name, e)
		}
		x, told := r.known(e.Under)
		if !told {
			return e.TTL
		}
		return x.left(e.TTL)
	})
}

// left is how long a hold of ttl lasts under a lease of which x is known. The lease lasts a
// little longer than the hold, whose node lets go of it before; if it has not, the hold is
// over when the lease has expired.
func (x expiry) left(ttl time.Duration) time.Duration {
	left := x.at - now()
	if x.gone {
		return 0
	}
	if own := left - (x.ttl - ttl); own > 0 {
		return min(own, ttl)
	}
	return max(left, 0)
}

// expiryOf is what etcd has said of a lease. Its ttl is rounded down; and what has expired is seen
// to twice in a second. Until then it is not gone, though its time is below 0: the next leader lets
// it live on. One that has just begun tells 292 years.
func expiryOf(a *clientv3.LeaseTimeToLiveResponse) expiry {
	left := min(max(a.TTL, 0), a.GrantedTTL) + 1
	return expiry{at: now() + time.Duration(left)*time.Second, ttl: time.Duration(a.GrantedTTL) * time.Second, gone: a.GrantedTTL == 0}
}

func (r *remains) known(lease string) (expiry, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	x, ok := r.leases[lease]
	return x, ok && (x.gone || x.at > now())
}

// ask asks etcd about a lease.
func (r *remains) ask(ctx context.Context, c *clientv3.Client, lease string) error {
	id, err := strconv.ParseUint(lease, 16, 64)
	if err != nil {
		return fmt.Errorf("%w: there is no lease %s in etcd", backend.ErrRefused, lease)
	}
	a, err := c.TimeToLive(ctx, clientv3.LeaseID(id))
	if err != nil {
		return outcome(ctx, err)
	}
	x := expiryOf(a)
	r.mu.Lock()
	defer r.mu.Unlock()
	quorum.Put(&r.leases, mostRemains, lease, x)
	return nil
}

// mostProofs is how many leases a write compares: etcd takes 128 comparisons, and counts with
// them the messages of the part that has most, see mailTogether. Where a write ends more, they are
// looked for before, which does as well: one that is gone never comes back.
const mostProofs = 60

func (t *Table) anyAlive(ctx context.Context, c *clientv3.Client, leases []string) (bool, error) {
	r, err := c.Get(ctx, t.keys.alive(""), clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil {
		return false, outcome(ctx, err)
	}
	return slices.ContainsFunc(r.Kvs, func(kv *mvccpb.KeyValue) bool {
		return slices.Contains(leases, strings.TrimPrefix(string(kv.Key), t.keys.alive("")))
	}), nil
}
