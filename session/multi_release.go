package session

import (
	"context"
	"fmt"
	"sync"

	"github.com/lockgw/lockgw/session/contender"
	"github.com/lockgw/lockgw/session/engine"
)

// ReleaseAll gives up one entry of the hold of each of names by thread (0 means 1).
// Without names it gives up all that the session holds, every entry. Names that have
// entries left are not Released. It goes on after ctx is done. key is as Acquire.Key.
//
// CodeInvalid, and CodeNotOwner for a name that is not held: nothing is changed.
// CodeLost for one that was held and is lost: the others are given up all the same.
func (s *Session) ReleaseAll(ctx context.Context, names []string, thread int64, key string) (Ended, error) {
	s.Touch()
	or(&thread, 1)
	if err := s.checkNames(names); err != nil {
		return Ended{}, err
	}
	if key == "" {
		return s.releaseAll(ctx, names, thread, nil)
	}
	what := digest("release", fmt.Sprintf("%q %d", names, thread))
	whole, err := s.receiptFor(names, key, what)
	if err != nil {
		return Ended{}, err
	}
	v, repeat, err := s.once(ctx, whole, false, func(r *receipt) (any, error) {
		return s.releaseAll(ctx, names, thread, r)
	})
	if r, ok := v.(Released); ok { // of the process before it is not known which names those of the session were
		left := max(r.freeAt-s.m.cfg.Clock(), 0)
		return Ended{Pending: left > 0, FreeBy: left, freeAt: r.freeAt}, err
	}
	all, _ := v.(Ended)
	if repeat && all.Pending {
		was := Released{Pending: true, freeAt: all.freeAt}
		all, _ = together(all.Released, func(i int) (Released, error) { return s.again(ctx, all.Released[i], was), nil })
	}
	return all, err
}

func (s *Session) releaseAll(ctx context.Context, names []string, thread int64, r *receipt) (Ended, error) {
	if len(names) == 0 {
		return s.releaseEverything(ctx, r)
	}
	for _, name := range names {
		if _, err := s.Lease(name, thread); err != nil && CodeOf(err) != CodeLost && s.before(r.of(name)) == nil {
			return Ended{}, err
		}
	}
	all, errs := together(names, func(i int) (Released, error) {
		if done, ok := s.before(r.of(names[i])).(Released); ok {
			return s.again(ctx, names[i], done), nil
		}
		return s.release(ctx, names[i], thread, false, nil, r.of(names[i]))
	})
	for _, err := range errs {
		if err != nil {
			if r != nil { // some were given back, or their entries: a repeat must not do that again
				r.changed = true
			}
			return all, err
		}
	}
	return all, nil
}

// releaseEverything gives up all holds of the session. One that has ended meanwhile
// is no error.
func (s *Session) releaseEverything(ctx context.Context, r *receipt) (Ended, error) {
	if err := s.Err(); err != nil {
		return Ended{}, err
	}
	var names []string
	leases := s.Leases()
	for _, l := range leases {
		names = append(names, l.name)
	}
	all, _ := together(names, func(i int) (Released, error) { // an error: it has ended otherwise
		return s.release(ctx, names[i], leases[i].thread, true, nil, nil)
	})
	if r != nil { // or a repeat after a restart would give up what the session has taken since
		a := r.answer(s.m.cfg.Clock())
		a.Free = all.freeAt
		s.m.cfg.Journal.Answered(s.id, a)
	}
	return all, nil
}

// together releases at the same time, so that a store that does not answer is waited
// for only once.
func together(names []string, release func(i int) (Released, error)) (all Ended, errs []error) {
	done, errs := make([]Released, len(names)), make([]error, len(names))
	var wg sync.WaitGroup
	for i := range names {
		wg.Go(func() { done[i], errs[i] = release(i) })
	}
	wg.Wait()
	for i, d := range done {
		one := Ended{Pending: d.Pending, FreeBy: d.FreeBy, freeAt: d.freeAt}
		if errs[i] == nil && d.Count == 0 {
			one.Released = names[i : i+1]
		}
		all.add(one)
	}
	return all, errs
}

// GiveBack gives up one entry of each of the grants of an AcquireAll that nobody was
// told of; min_hold does not keep their names. It goes on after ctx is done, and waits
// for the store for at most Config.Timeout, after which the core goes on without it.
// What is over already is no error.
func (s *Session) GiveBack(ctx context.Context, gs []Grant) { s.giveBackAll(ctx, gs, nil) }

// giveBackAll is GiveBack of what a request with receipt r has got. The journal takes back,
// with each entry, that r had it: or the next process would have a repeat go on with it.
func (s *Session) giveBackAll(ctx context.Context, gs []Grant, r *receipt) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.m.cfg.Timeout)
	defer cancel()
	var wg sync.WaitGroup
	for _, g := range gs {
		of := r.of(g.Lease.name)
		s.forget(of) // or the next repeat here would go on with it
		if of != nil {
			of.undoes = true
		}
		wg.Go(func() { s.giveBack(ctx, g, of) })
	}
	wg.Wait()
}

func (s *Session) giveBack(ctx context.Context, g Grant, r *receipt) {
	l := g.Lease
	errand, err := (*engine.Errand)(nil), errMore
	for err == errMore {
		if l.entries() > 1 {
			n, err := s.leaveOnce(ctx, l, r)
			if CodeOf(err) == CodeDraining {
				l.takeBack(r)
			}
			if n > 0 || err != nil {
				return
			}
		}
		if g.New {
			l.setUntold(true)
		}
		errand, err = l.endUnless(true, "", r)
	}
	switch {
	case err == nil:
		l.settle(context.Background(), ctx.Done(), errand)
	case err.Code == CodeDraining:
		l.takeBack(r)
	case g.New: // over already: so much the better
		l.settle(context.Background(), ctx.Done(), l.unkeep())
	}
}

// unkeep lets go of the name of l, of which nobody was told, where its session has ended just before
// and left it to its min_hold.
func (l *Lease) unkeep() *engine.Errand {
	return l.n.ReleaseIf(&l.c, func(*contender.Contender) bool {
		if l.c.Kept && l.c.Entries == 1 { // of the others somebody was told
			l.c.MinHoldAt = 0
		}
		return false
	})
}

// takeBack: an entry of l was left to the next process, and nobody is told of it. So the journal
// has it no more: its session would not release it there.
func (l *Lease) takeBack(r *receipt) {
	l.mu.Lock()
	l.known-- // the name is given up, and nobody else changes it
	n := l.known
	l.mu.Unlock()
	if n > 0 {
		l.m.cfg.Journal.Entries(l.key(), l.s.id, n, r.released(l, n))
	} else {
		l.m.cfg.Journal.Released(l.key(), l.s.id, r.released(l, 0))
	}
}
