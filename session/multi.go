package session

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// AcquireAll acquires all of names, or none of them, and returns the grants in the
// order of names. a is as for Acquire: its Wait is for all of them together, MaxHold
// and MinHold count for each from its own grant, and OnQueued may be called for each.
//
// The names are taken one after the other in the order of their bytes, whatever the
// order of names, so that two such requests never wait for each other. A name that
// the session holds already is entered again.
//
// Whatever the error, all that this call has got is given back, entry by entry, and
// the store has confirmed that or has had Config.Timeout to do so. The errors are
// those of Acquire, for the name that failed, and CodeInvalid for a list that is
// empty, has a name twice or is longer than Limits.HoldsPerSession. A hold that ends
// while the call waits for a later name ends the call: CodeLost, or CodeNotOwner if
// the session has released it meanwhile. If this process is killed during the wait, the
// next one has nothing of what was got until then, but for a hold that the session had before, or
// has entered or given a longer lease by another request since: that keeps the entry of this one.
func (s *Session) AcquireAll(ctx context.Context, names []string, a Acquire) ([]Grant, error) {
	if err := s.checkAll(names, &a); err != nil {
		return nil, err
	}
	if a.Key == "" {
		return s.gather(ctx, names, a, nil)
	}
	what := digest("acquire", fmt.Sprintf("%q %d %v %v %v %v %v", names, a.Thread, a.Wait, a.TTL, a.Fixed, a.MaxHold, a.MinHold)+a.inMode())
	whole, err := s.receiptFor(names, a.Key, what)
	if err != nil {
		return nil, err
	}
	v, _, err := s.once(ctx, whole, true, func(r *receipt) (any, error) { return s.gather(ctx, names, a, r) })
	gs, _ := v.([]Grant)
	return gs, err
}

// digest tells requests for several names apart, however many those are.
func digest(verb, what string) string {
	return fmt.Sprintf("%s all %x", verb, sha256.Sum256([]byte(what)))
}

// checkAll refuses bad arguments and fills in defaults.
func (s *Session) checkAll(names []string, a *Acquire) error {
	if len(names) == 0 {
		return Invalid("names", "must have at least one")
	}
	if err := s.checkNames(names); err != nil {
		return err
	}
	return s.check(names[0], a)
}

func (s *Session) checkNames(names []string) error {
	if most := s.m.cfg.Limits.HoldsPerSession; len(names) > most {
		return Invalid("names", "are %d, the limit is %d (limits.holds_per_session)", len(names), most)
	}
	seen := make(map[string]bool, len(names))
	for i, name := range names {
		var e *Error
		if errors.As(CheckName(name), &e) {
			return Invalid(fmt.Sprintf("names[%d]", i), "%s", strings.TrimPrefix(e.Detail, "name: "))
		}
		if seen[name] {
			return Invalid("names", "has %q twice", name)
		}
		seen[name] = true
	}
	return nil
}

// gather is AcquireAll of good arguments; r is the receipt of the whole.
func (s *Session) gather(ctx context.Context, names []string, a Acquire, r *receipt) ([]Grant, error) {
	s.mu.Lock()
	s.gathering++
	s.mu.Unlock()
	defer s.gathered()
	if gs := s.answeredBefore(names, r); len(gs) == len(names) {
		return gs, nil
	}
	a.untold = true
	got, err := s.takeAll(ctx, slices.Sorted(slices.Values(names)), a, r)
	if err == nil {
		for _, g := range got {
			g.Lease.survive(true)
			g.Lease.setUntold(false)
		}
		err = firstOver(got)
	}
	if err != nil {
		s.giveBackAll(ctx, got, r)
		return nil, err
	}
	byName := make(map[string]Grant, len(got))
	for _, g := range got {
		byName[g.Lease.name] = g
	}
	for i, name := range names {
		got[i] = byName[name]
	}
	return got, nil
}

// gathered: while AcquireAll is under way, a OneLock session does not end with what is
// given back. If nothing is left it ends now, in a while.
func (s *Session) gathered() {
	s.mu.Lock()
	s.gathering--
	s.mu.Unlock()
	if s.o.OneLock {
		s.Retire(releasedReason)
	}
}

// takeAll acquires names in the order given. What it returns is held, also with an
// error, as far as it has not been lost since. If this process is killed during the wait, the next
// one must not keep for the session what nobody was told of: nobody would release it.
func (s *Session) takeAll(ctx context.Context, names []string, a Acquire, r *receipt) (got []Grant, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	var watches sync.WaitGroup
	defer watches.Wait()
	defer cancel(nil)
	asked, end := a.Wait, s.m.cfg.Clock()+a.Wait
	for _, name := range names {
		g, err := s.takeOne(ctx, name, a, r.of(name))
		if over := s.gone(name); err != nil && over != nil {
			return got, over // and with it the holds, which would tell less
		}
		if err != nil {
			return got, whyNot(ctx, err, asked)
		}
		got = append(got, g)
		if g.New {
			g.Lease.survive(false)
		}
		watches.Go(func() {
			select {
			case <-g.Lease.done:
				cancel(g.Lease.Err())
			case <-ctx.Done():
			}
		})
		a.Wait = max(end-s.m.cfg.Clock(), 0)
	}
	return got, nil
}

// takeOne acquires name, unless the process before this one had got it for the same
// request and it is still held.
func (s *Session) takeOne(ctx context.Context, name string, a Acquire, r *receipt) (Grant, error) {
	if g, ok := s.before(r).(Grant); ok && g.Lease.Err() == nil {
		return g, nil
	}
	return s.acquire(ctx, name, a, r)
}

// whyNot is the error of the call that stopped with err; asked is what it was to wait.
func whyNot(ctx context.Context, err error, asked time.Duration) error {
	var e *Error
	if errors.As(context.Cause(ctx), &e) {
		return e // a hold that it had already is over
	}
	if errors.As(err, &e) && e.Code == CodeLocked && asked > 0 {
		late := *e
		late.Code, late.Detail = CodeWaitTimeout, "another held the lock when the wait for all of the names was over"
		return &late
	}
	return err
}

// firstOver is why the first of gs that is over is so, nil if all are held.
func firstOver(gs []Grant) error {
	for _, g := range gs {
		if err := g.Lease.Err(); err != nil {
			return err
		}
	}
	return nil
}
