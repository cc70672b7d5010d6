package etcd

import (
	"context"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

// remains is how long holds last that are seen in records.
type remains struct {
	t *Table

	mu     sync.Mutex // guards the fields below
	leases map[clientv3.LeaseID]expiry
	// clocks has when a hold was first seen here that ends by clocks.
	clocks map[seen]time.Duration
}

// expiry of a lease, as etcd has told it.
type expiry struct {
	at   time.Duration // at the latest, unless somebody prolongs it
	ttl  time.Duration
	gone bool // it has expired, and never comes back
}

type seen struct {
	name string
	id   backend.Fence
}

// mostRemains bounds what is remembered of leases, and of clocks. What is forgotten is asked
// for again, or observed anew.
const mostRemains = 10_000

// byClock is how long the hold e lasts: nobody prolongs it. It is over once it was seen here
// for its ttl, so that no difference of clocks ends it early; or once it is over for another
// ttl by the clock of who wrote it, so that who comes a day later need not wait.
func (r *remains) byClock(name string, e end) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := now()
	key := seen{name, e.id}
	first, ok := r.clocks[key]
	if !ok {
		if len(r.clocks) >= mostRemains || r.clocks == nil {
			r.clocks = map[seen]time.Duration{}
		}
		first = at
		r.clocks[key] = first
	}
	return min(first+e.ttl-at, time.Duration(e.until-clock())*time.Microsecond+e.ttl)
}

// fill sets the ends in record, from now on. Of leases that were asked about before and have
// not expired since, etcd is asked again only if fresh: they may last longer by now.
func (r *remains) fill(ctx context.Context, c *clientv3.Client, name string, es ends, record *ledger.Record, fresh bool) error {
	var ask []clientv3.LeaseID
	for _, e := range es {
		if x, ok := r.known(e.lease); e.lease != 0 && (!ok || fresh && !x.gone) {
			ask = append(ask, e.lease)
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
func (r *remains) set(name string, es ends, record *ledger.Record) {
	for i := range record.Holds {
		h := &record.Holds[i]
		h.End = 0
		e, ok := es.find(h.ID)
		switch x, told := r.known(e.lease); {
		case !ok:
		case e.lease == 0:
			h.End = r.byClock(name, e)
		case !told:
			h.End = e.ttl
		default:
			h.End = e.left(x)
		}
	}
}

// left is how long the hold e lasts under a lease of which that is known. The lease lasts a
// little longer than the hold, whose node lets go of it before; if it has not, the hold is
// over when the lease has expired.
func (e end) left(x expiry) time.Duration {
	left := x.at - now()
	if x.gone {
		return 0
	}
	if own := left - (x.ttl - e.ttl); own > 0 {
		return min(own, e.ttl)
	}
	return max(left, 0)
}

func (r *remains) known(id clientv3.LeaseID) (expiry, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	x, ok := r.leases[id]
	return x, ok && (x.gone || x.at > now())
}

// ask asks etcd about a lease.
func (r *remains) ask(ctx context.Context, c *clientv3.Client, id clientv3.LeaseID) error {
	a, err := c.TimeToLive(ctx, id)
	if err != nil {
		return outcome(ctx, err)
	}
	// The ttl is rounded down; and what has expired is seen to twice in a second.
	x := expiry{at: now() + time.Duration(a.TTL+1)*time.Second, ttl: time.Duration(a.GrantedTTL) * time.Second, gone: a.TTL < 0}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.leases) >= mostRemains || r.leases == nil {
		r.leases = map[clientv3.LeaseID]expiry{}
	}
	r.leases[id] = x
	return nil
}
