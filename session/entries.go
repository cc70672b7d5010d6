package session

import (
	"context"
	"time"
)

// reserve waits until nobody else changes l's count.
func (p *place) reserve(ctx context.Context, l *Lease) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l.busy != nil {
		busy := l.busy
		p.mu.Unlock()
		select {
		case <-busy:
		case <-ctx.Done():
		}
		p.mu.Lock()
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	l.busy = make(chan struct{})
	return nil
}

func (p *place) unreserve(l *Lease) {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(l.busy)
	l.busy = nil
}

// write changes l's count by d, in the store first, and returns it. The store is
// told the count itself, so that a repeat does no harm. The last entry is not
// taken by this; then the result is 0.
func (p *place) write(ctx context.Context, l *Lease, d int, answer *receipt) (int, error) {
	p.mu.Lock()
	now := p.m.cfg.Clock()
	p.advanceAt(now) // a deadline that has passed is a loss, whether or not its timer has run
	if err := l.errLocked(now); err != nil {
		p.mu.Unlock()
		return 0, err
	}
	n := l.count + d
	if n == 0 || n > p.m.cfg.Limits.Entries {
		p.mu.Unlock()
		return n, nil
	}
	r := p.description(l, n)
	p.mu.Unlock()

	ctx, cancel := context.WithTimeout(ctx, p.m.cfg.Timeout)
	defer cancel()
	err := p.m.b.Describe(ctx, r)

	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case err == nil || p.phase != holding || p.hold.fence != r.Hold:
	case notHeld(err):
		p.missing()
	default:
		p.describeAgain() // it may have been executed, and stands in for one that was due meanwhile
	}
	p.advance()
	if over := l.errLocked(p.m.cfg.Clock()); over != nil {
		return 0, over
	}
	if err != nil && d > 0 {
		return 0, &Error{
			Code: CodeUnavailable, Lock: l.name, RetryAfter: time.Second,
			Detail: "the store did not confirm the re-entry, which does not count; the hold itself stands: " + err.Error(),
		}
	}
	if err == nil {
		p.hold.described, p.hold.owner = max(p.hold.described, r.Turn), r.Owner
	}
	if d > 0 {
		p.m.cfg.Journal.Entries(p.entry(), l.s.id, n, answer.granted(l))
	} else {
		p.m.cfg.Journal.Entries(p.entry(), l.s.id, n, answer.released(l, n))
	}
	l.count = n // one entry less is the client's word, whatever the store says
	return n, nil
}

// entries is how often l was entered.
func (l *Lease) entries() int {
	l.p.mu.Lock()
	defer l.p.mu.Unlock()
	return l.count
}

// leaseTTL is the ttl by which the watchdog renews l.
func (l *Lease) leaseTTL() time.Duration {
	l.p.mu.Lock()
	defer l.p.mu.Unlock()
	return l.ttl
}

// loosen puts a fixed lease under the watchdog when an entry asks for that.
func (p *place) loosen(l *Lease, fixed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !fixed {
		l.fixed = false
		p.advance()
	}
}
