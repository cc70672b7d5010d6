package zookeeper

import (
	"context"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

// remains is how long holds last that are seen in records.
type remains struct {
	t *Table

	mu       sync.Mutex // guards the fields below
	sessions map[string]*life
	// clocks has when a hold was first seen here that ends by clocks.
	clocks map[seen]time.Duration
}

// life of the session of a node, as it is known here.
type life struct {
	gone  bool          // for ever
	since time.Duration // when it was first seen to be gone
	// names are those of which a hold is under it. They are looked at when it goes.
	names map[string]bool
}

type seen struct {
	name string
	id   backend.Fence
}

// mostRemains bounds what is remembered of sessions, of clocks, and of the names under one
// session. What is forgotten is asked for again, or observed anew.
const mostRemains = 10_000

// byClock is how long the hold e lasts: nobody prolongs it. It is over once it was seen here
// for its ttl, so that no difference of clocks ends it early; or once it is over for another
// ttl by the clock of who wrote it, so that who comes a day later need not wait.
func (r *remains) byClock(name string, e end) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.ttl == 0 {
		return 0 // its node has said so
	}
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

// left is how long the hold e lasts at most. ZooKeeper is asked about a session of which it
// is not known that it lives.
func (r *remains) left(ctx context.Context, s *session, name string, e end) (time.Duration, error) {
	if e.session != "" && e.session != s.id && !r.knows(e.session, name) {
		if err := r.ask(ctx, s, e.session, name); err != nil {
			return 0, err
		}
	}
	return r.known(name, e), nil
}

// known is left, without asking. A session of which nothing is known may live.
func (r *remains) known(name string, e end) time.Duration {
	if e.session == "" {
		return r.byClock(name, e)
	}
	if left, ok := r.t.stakes.left(name, e.id); ok {
		return min(left, e.ttl)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if l := r.sessions[e.session]; l != nil && l.gone {
		return max(l.since+e.spare-now(), 0)
	}
	return e.ttl
}

// fill sets the ends in record, from now on.
func (r *remains) fill(name string, es ends, record *ledger.Record) {
	for i := range record.Holds {
		h := &record.Holds[i]
		h.End = 0
		if e, ok := es.find(h.ID); ok {
			h.End = r.known(name, e)
		}
	}
}

// knows: the session is known to be gone, or is watched; then name is looked at when it goes.
func (r *remains) knows(id, name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.sessions[id]
	if l != nil && !l.gone && len(l.names) < mostRemains {
		l.names[name] = true
	}
	return l != nil
}

// lives: the session is there after all.
func (r *remains) lives(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.sessions, id)
}

// renounce forgets which sessions live: they are watched no more.
func (r *remains) renounce() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, l := range r.sessions {
		if !l.gone {
			delete(r.sessions, id)
		}
	}
}

// ask looks whether a session lives, and watches it if so.
func (r *remains) ask(ctx context.Context, s *session, id, name string) error {
	w, err := s.watch(ctx, r.t.paths.alive(id))
	if err != nil && !isGone(err) {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.sessions) >= mostRemains || r.sessions == nil {
		r.sessions = map[string]*life{}
	}
	if err != nil {
		r.sessions[id] = &life{gone: true, since: now()}
		return nil
	}
	switch l := r.sessions[id]; {
	case l == nil:
		l = &life{names: map[string]bool{name: true}}
		r.sessions[id] = l
		go r.await(s, l, id, w.events) // until the session or the Table ends
	case !l.gone:
		l.names[name] = true
	}
	return nil
}

// await has what was held under a session looked at as soon as that goes.
func (r *remains) await(s *session, l *life, id string, events <-chan zk.Event) {
	var e zk.Event
	select {
	case e = <-events:
	case <-s.c.over:
		return
	case <-r.t.life.Done():
		return
	}
	r.mu.Lock()
	if r.sessions[id] == l {
		delete(r.sessions, id)
	}
	if e.Type == zk.EventNodeDeleted {
		r.sessions[id] = &life{gone: true, since: now()}
	}
	names := l.names
	r.mu.Unlock()
	for name := range names {
		r.t.told(ledger.Addressed{Name: name, Message: ledger.Message{Node: r.t.cfg.Node.ID, Kind: ledger.Look}})
	}
}
