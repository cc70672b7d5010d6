package session

import (
	"context"
	"time"

	"github.com/lockgw/lockgw/session/contender"
)

// reserve waits until nobody else changes how often l was entered.
func (l *Lease) reserve(ctx context.Context) error {
	for {
		l.mu.Lock()
		busy := l.busy
		if busy == nil {
			l.busy = make(chan struct{})
		}
		l.mu.Unlock()
		if busy == nil {
			return nil
		}
		select {
		case <-busy:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (l *Lease) unreserve() {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.busy)
	l.busy = nil
}

// enter changes by d how often l was entered, in the store first, and returns the sum.
// The store is told the sum itself, so that a repeat does no harm. The last entry is not
// taken by this; then the result is 0. The caller has reserved l. CodeConflict: it would be more
// than Limits.Entries.
func (l *Lease) enter(ctx context.Context, d int, answer *receipt) (int, error) {
	was := l.entries()
	n := was + d
	if err := l.Err(); err != nil {
		return 0, err
	}
	switch {
	case n == 0:
		return 0, nil
	case d > 0 && n > l.m.cfg.Limits.Entries: // there may be more, of a process before with another limit
		return 0, &Error{
			Code: CodeConflict, Lock: l.name, Detail: "the limit of entries of one hold (limits.entries_per_hold) is reached",
		}
	}
	confirmed := l.writeEntries(ctx, n)
	if over := l.Err(); over != nil {
		return 0, over
	}
	if !confirmed && d > 0 {
		l.n.SetEntries(&l.c, was).Launch()
		return 0, &Error{
			Code: CodeUnavailable, Lock: l.name, RetryAfter: time.Second,
			Detail: "the store did not confirm the re-entry, which does not count; the hold itself stands",
		}
	}
	over := l.see(func(c *contender.Contender, _ time.Duration) { // or they might be written down for the hold after this
		l.comeOut(c.Hold(), c.LeaseEnd(&l.c))
		l.known = n
		if d > 0 {
			l.m.cfg.Journal.Entries(l.key(), l.s.id, n, answer.granted(l))
		} else { // one entry less is the client's word, whatever the store says
			l.m.cfg.Journal.Entries(l.key(), l.s.id, n, answer.released(l, n))
		}
	})
	if over != nil {
		return 0, over
	}
	return n, nil
}

// writeEntries has the store know that l was entered n times, and says whether it does.
func (l *Lease) writeEntries(ctx context.Context, n int) bool {
	written := make(chan struct{}, 1) // without what is left of the one before
	l.mu.Lock()
	l.written = written
	l.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, l.m.cfg.Timeout)
	defer cancel()
	l.n.SetEntries(&l.c, n).Do(ctx)
	select {
	case <-written:
		return true
	default:
	}
	select {
	case <-written:
		return true
	case <-l.done:
	case <-ctx.Done():
	}
	return false
}
