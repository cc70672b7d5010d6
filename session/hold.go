package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/session/contender"
	"github.com/lockgw/lockgw/session/engine"
)

// Released is the answer to a Release.
type Released struct {
	Count int // entries left; 0: the name is given back
	// Pending: the store has not confirmed yet. The name is free after FreeBy at
	// the latest.
	Pending bool
	FreeBy  time.Duration
	freeAt  time.Duration // FreeBy, on the clock
}

// errOver: the lease ended while it was being entered again.
var errOver = errors.New("over")

// Lease finds the hold of name by thread (0 means 1). CodeNotOwner, CodeLost.
func (s *Session) Lease(name string, thread int64) (*Lease, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	or(&thread, 1)
	k := holdKey{name, thread}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return nil, s.Err()
	case s.spent:
		return nil, endedError(releasedReason)
	case s.holds[k] != nil:
		return s.holds[k], nil
	case s.lost[k] != nil:
		return nil, s.lost[k]
	default:
		return nil, &Error{
			Code: CodeNotOwner, Lock: name, Detail: fmt.Sprintf("this session does not hold the lock with thread %d", thread),
		}
	}
}

// Leases are the session's holds, by name.
func (s *Session) Leases() []*Lease {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.SortedFunc(maps.Values(s.holds), func(a, b *Lease) int { return strings.Compare(a.name, b.name) })
}

// Views are the session's holds as they are now, by name; one that has just ended is left
// out. CodeDraining: they are left to the next process.
func (s *Session) Views() ([]View, error) {
	var out []View
	for _, l := range s.Leases() {
		v, err := l.View()
		switch {
		case err == nil:
			out = append(out, v)
		case CodeOf(err) == CodeDraining:
			return nil, err
		}
	}
	return out, nil
}

// Wait is a name that a session waits for.
type Wait struct {
	Name   string
	Thread int64
	Since  time.Time
}

// Waits are the names that the session waits for, by name.
func (s *Session) Waits() []Wait {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Wait
	for _, l := range s.waiting {
		out = append(out, Wait{l.name, l.thread, l.asked})
	}
	slices.SortFunc(out, func(a, b Wait) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Release gives up one entry of the hold of name by thread (0 means 1), or all.
// It goes on after ctx is done. key is as Acquire.Key.
// CodeNotOwner; CodeLost when the hold was lost before.
func (s *Session) Release(ctx context.Context, name string, thread int64, all bool, key string) (Released, error) {
	return s.ReleaseSeen(ctx, name, thread, all, nil, key)
}

// ReleaseSeen is Release of the hold that has the fence seen; nil: whichever it is.
// CodeFenceMismatch when the hold has another one.
func (s *Session) ReleaseSeen(ctx context.Context, name string, thread int64, all bool, seen *backend.Fence, key string) (Released, error) {
	s.Touch()
	if key == "" {
		return s.release(ctx, name, thread, all, seen, nil)
	}
	what := fmt.Sprintf("release %s %d %v", name, thread, all)
	if seen != nil {
		what += fmt.Sprintf(" fence %d", *seen)
	}
	v, repeat, err := s.once(ctx, &receipt{key: key, what: what, names: 1}, false, func(r *receipt) (any, error) {
		return s.release(ctx, name, thread, all, seen, r)
	})
	r, _ := v.(Released)
	if repeat {
		r = s.again(ctx, name, r)
	}
	return r, err
}

// again is what a repeat is told of a release that was answered with r: the store may have
// confirmed since what it had not. Of the answers of the process before it is not known.
func (s *Session) again(ctx context.Context, name string, r Released) Released {
	if !r.Pending {
		return r
	}
	free := r.freeAt <= s.m.cfg.Clock()
	l := &Lease{m: s.m, n: s.m.engine.Find(name)}
	known := l.n != nil || !s.m.IsDraining() // a gateway that has stopped has given up what it knew
	if free || known && l.settle(context.Background(), ctx.Done(), nil) {
		return Released{}
	}
	r.FreeBy = max(r.freeAt-s.m.cfg.Clock(), 0)
	return r
}

func (s *Session) surrender(ctx context.Context, name string, thread int64, all bool, seen *backend.Fence, answer *receipt) (Released, error) {
	l, err := s.Lease(name, thread)
	if err != nil {
		return Released{}, err
	}
	if seen != nil && *seen != l.Fence() {
		return Released{}, &Error{
			Code: CodeFenceMismatch, Lock: name,
			Detail: fmt.Sprintf("the hold has fence %d, not %d; nothing was released", l.Fence(), *seen),
		}
	}
	for {
		entries, freeBy := l.longest()
		if !all && entries > 1 {
			if n, err := s.leaveOnce(ctx, l, answer); n > 0 || err != nil {
				return Released{Count: n}, err
			}
			continue // others have left it meanwhile
		}
		freeAt := s.m.cfg.Clock() + freeBy
		errand, ended := l.endUnless(!all, "", answer)
		switch {
		case ended == errMore:
		case ended != nil:
			return Released{}, ended
		case l.settle(s.m.detach(ctx), ctx.Done(), errand):
			return Released{}, nil
		default:
			return Released{Pending: true, FreeBy: freeBy, freeAt: freeAt}, nil
		}
	}
}

// longest is how often l was entered, 0: it is over, and how long it may last in the store
// without a renewal.
func (l *Lease) longest() (entries int, d time.Duration) {
	_ = l.see(func(c *contender.Contender, now time.Duration) {
		entries, d = l.c.Entries, c.StoreEnd()-now
	})
	return entries, d
}

// settle carries errand and waits, no longer than Config.Timeout or until stop is closed,
// for the store to have nothing of this node that nobody here uses. Whoever releases does
// not wait for what comes next.
func (l *Lease) settle(parent context.Context, stop <-chan struct{}, errand *engine.Errand) bool {
	errand.Tell()
	given := l.n.Given()
	if given == nil {
		errand.Launch()
		return !l.n.Owed()
	}
	began := time.Now()
	errand.Do(cmp.Or(parent, context.Background()))
	select {
	case <-given:
		return !l.n.Owed()
	default:
	}
	t := time.NewTimer(l.m.cfg.Timeout - time.Since(began))
	defer t.Stop()
	select {
	case <-given:
		return !l.n.Owed()
	case <-stop:
	case <-t.C:
	}
	return false
}

// enterAgain adds an entry to l and makes its lease last for what a asks.
// errOver: l is over, and the name has to be waited for.
func (s *Session) enterAgain(ctx context.Context, l *Lease, a Acquire, answer *receipt) error {
	if err := l.reserve(ctx); err != nil {
		return err
	}
	defer l.unreserve()
	_, err := l.enter(ctx, +1, answer)
	switch {
	case CodeOf(err) == CodeLost, CodeOf(err) == CodeNotOwner:
		l.n.Tick() // or it would be tried again and again until the timer has gone off
		return errOver
	case err != nil:
		return err
	}
	if !a.Fixed {
		l.n.Loosen(&l.c)
	}
	if l.lacks(a.TTL) {
		_ = l.n.Prolong(ctx, &l.c, a.TTL) // entered in any case; the watchdog goes on with it
	}
	return nil
}

// leaveOnce takes an entry from l if it has more than one, and returns how many
// are left then. It goes on after ctx is done: a client that hangs up wants its
// entry given back all the more.
func (s *Session) leaveOnce(ctx context.Context, l *Lease, answer *receipt) (int, error) {
	ctx = context.WithoutCancel(ctx) // what it may wait for is bounded by Config.Timeout
	if err := l.reserve(ctx); err != nil {
		return 0, err
	}
	defer l.unreserve()
	return l.enter(ctx, -1, answer)
}

// Renew sets the lease of the hold of name by thread (0 means 1) to ttl from now
// on, 0: to what it has; a lease never becomes shorter by it.
// CodeInvalid; CodeNotOwner; CodeLost; CodeUnavailable with Left.
func (s *Session) Renew(ctx context.Context, name string, thread int64, ttl time.Duration) (*Lease, error) {
	s.Touch()
	lim := s.m.cfg.Limits
	if ttl != 0 && (ttl < lim.MinTTL || ttl > lim.MaxTTL) {
		return nil, Invalid("ttl", "must be between %v and %v (limits.min_ttl, limits.max_ttl)", lim.MinTTL, lim.MaxTTL)
	}
	l, err := s.Lease(name, thread)
	if err != nil {
		return nil, err
	}
	or(&ttl, l.leaseTTL())
	err = l.n.Prolong(ctx, &l.c, ttl)
	v, over := l.View()
	switch {
	case over != nil:
		return nil, over
	case err != nil:
		return nil, &Error{
			Code: CodeUnavailable, Lock: name, Left: v.Left, RetryAfter: retryAfter(err),
			Detail: fmt.Sprintf("the store did not confirm the renewal; the hold stands for %v more", v.Left.Round(time.Millisecond)),
		}
	}
	return l, nil
}
