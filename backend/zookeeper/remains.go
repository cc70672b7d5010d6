package zookeeper

import (
	"context"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/quorum"
)

// remains is how long holds last that are seen in records.
type remains struct {
	t      *Table
	clocks quorum.Clocks

	mu       sync.Mutex // guards the field below
	sessions map[string]*life
}

// life of the session of a node, as it is known here.
type life struct {
	gone  bool          // for ever
	since time.Duration // when it was first seen to be gone
	// names are those of which a hold is under it. They are looked at when it goes.
	names map[string]bool
}

// mostRemains bounds what is remembered of sessions, and of the names under one: all that were
// looked at, as by a list. What is forgotten is asked for again.
const mostRemains = 10_000

// left is how long the hold e lasts at most. ZooKeeper is asked about a session of which it
// is not known that it lives.
func (r *remains) left(ctx context.Context, s *session, name string, e quorum.End) (time.Duration, error) {
	if e.Under != "" && e.Under != s.id && !r.knows(e.Under, name) {
		if err := r.ask(ctx, s, e.Under, name); err != nil {
			return 0, err
		}
	}
	return r.known(name, e), nil
}

// known is left, without asking. A session of which nothing is known may live.
func (r *remains) known(name string, e quorum.End) time.Duration {
	if e.Under == "" {
		return r.clocks.Left(name, e)
	}
	if left, ok := r.t.stakes.left(name, e.ID); ok {
		return min(left, e.TTL)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if l := r.sessions[e.Under]; l != nil && l.gone {
		return max(l.since+e.Spare-now(), 0)
	}
	return e.TTL
}

// fill sets the ends in record, from now on.
func (r *remains) fill(name string, es quorum.Ends, record *ledger.Record) {
	es.Fill(record, func(e quorum.End) time.Duration { return r.known(name, e) })
}

// knows: the session is known to be gone, or is watched; then name is looked at when it goes.
func (r *remains) knows(id, name string) bool {
	r.mu.Lock()
	l := r.sessions[id]
	var most map[string]bool
	if l != nil && !l.gone {
		if len(l.names) >= mostRemains { // whoever still waits for one of them asks again
			most, l.names = l.names, map[string]bool{}
		}
		l.names[name] = true
	}
	r.mu.Unlock()
	r.lookAt(most)
	return l != nil
}

// lookAt has this node look at names.
func (r *remains) lookAt(names map[string]bool) {
	for name := range names {
		r.t.told(ledger.Addressed{Name: name, Message: ledger.Message{Node: r.t.Node(), Kind: ledger.Look}})
	}
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
	if err != nil {
		quorum.Put(&r.sessions, mostRemains, id, &life{gone: true, since: now()})
		return nil
	}
	switch l := r.sessions[id]; {
	case l == nil:
		l = &life{names: map[string]bool{name: true}}
		quorum.Put(&r.sessions, mostRemains, id, l)
		go r.await(s, l, id, w.events) // until the session or the Table ends
	case !l.gone:
		l.names[name] = true
	}
	return nil
}

// unwatched: nobody is told when the session of l goes; r.mu is locked.
func (r *remains) unwatched(id string, l *life) {
	if r.sessions[id] == l {
		delete(r.sessions, id)
	}
}

// await has what was held under a session looked at as soon as that goes.
func (r *remains) await(s *session, l *life, id string, events <-chan zk.Event) {
	var e zk.Event
	select {
	case e = <-events:
	case <-s.c.over: // everything is looked at again in the next one, which asks anew
		r.mu.Lock()
		defer r.mu.Unlock()
		r.unwatched(id, l)
		return
	case <-r.t.Life.Done():
		return
	}
	r.mu.Lock()
	r.unwatched(id, l)
	if e.Type == zk.EventNodeDeleted {
		r.sessions[id] = &life{gone: true, since: now()}
	}
	names := l.names
	r.mu.Unlock()
	r.lookAt(names)
}
