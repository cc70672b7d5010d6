package history

import (
	"context"
	"slices"
	"strings"
	"time"
)

// Told is an attempt with what a report adds to it.
type Told struct {
	Attempt
	// Meanwhile is who held the lock while it waited, the first of them first, and
	// at most maxMeanwhile: those who held it for longest. Others is how many more.
	Meanwhile []Span
	Others    int
}

const maxMeanwhile = 8

// Query is what to look up. The zero value of a field asks for no restriction.
type Query struct {
	Lock   string
	Since  time.Time // attempts that ended before are left out
	Before time.Time // attempts that began then or later are left out: Next of the previous page
	Limit  int       // and those that began in the same microsecond as the last one
}

// Report is the history of one lock, as this node's callers went through it.
type Report struct {
	Attempts []Told // the newest first
	Next     time.Time
	Totals   Totals
	// Counted is how many attempts of Totals have no line of their own.
	Counted int
	Seen    []Span // who held the lock on other nodes, as waiters here were told
	Oldest  time.Time
	Dropped uint64
}

// Of looks up what happened to one lock.
func (h *History) Of(ctx context.Context, q Query) (Report, error) {
	v, err := h.view(ctx)
	if err != nil {
		return Report{}, err
	}
	j := newJoin()
	r := Report{}
	var seen []Span
	err = h.scan(ctx, &v, q.Lock, q.Since, func(l *line) {
		switch {
		case l.Lock != q.Lock:
		case l.Kind == kindAttempt:
			j.add(l.attempt())
		case l.Kind == kindSeen && l.Who != nil:
			seen = append(seen, Span{*l.Who.holder(), l.From, l.From})
		case l.Kind == kindMore && l.Totals != nil && !l.To.Before(q.Since):
			r.Totals.merge(l.Totals)
			r.Counted += l.Totals.Attempts
		}
	})
	if err != nil {
		return Report{}, err
	}
	j.settle(slices.DeleteFunc(v.open, func(a Attempt) bool { return a.Lock != q.Lock }))
	sortByBegin(j.all)
	all := chain(j.all)
	r.Oldest = v.oldest()
	r.Dropped, _ = h.Dropped()
	holds := spansOf(all, seen)
	r.Seen = between(merge(seen, holds), holds)
	now := time.Now()
	for _, a := range slices.Backward(all) {
		if !a.Outcome.goesOn() && a.last().Before(q.Since) {
			continue
		}
		r.Totals.add(a, now)
		if !q.Before.IsZero() && !a.began().Before(q.Before) {
			continue
		}
		if n := len(r.Attempts); q.Limit > 0 && n >= q.Limit && a.began().Before(r.Attempts[n-1].began()) {
			r.Next = r.Attempts[n-1].began()
			continue
		}
		r.Attempts = append(r.Attempts, tell(a, holds, r.Seen, now))
	}
	r.Seen = slices.DeleteFunc(r.Seen, func(s Span) bool { return s.Until.Before(q.Since) && !s.Until.IsZero() })
	return r, nil
}

// oldest is the time of the oldest line in the files; zero if there is none.
func (v *view) oldest() time.Time {
	if len(v.files) == 0 {
		return time.Time{}
	}
	return v.files[0].began
}

// tell returns an attempt with those who held the lock while it waited.
func tell(a *Attempt, holds, seen []Span, now time.Time) Told {
	t := Told{Attempt: *a}
	if a.Asked.IsZero() || a.Waited(now) == 0 {
		return t
	}
	until := a.Asked.Add(a.Waited(now))
	t.Meanwhile = overlap(holds, a.Asked, until, string(a.Who.Owner))
	t.Meanwhile = append(t.Meanwhile, overlap(seen, a.Asked, until, string(a.Who.Owner))...)
	if b := a.Behind; b != nil && !slices.ContainsFunc(t.Meanwhile, func(s Span) bool { return s.Who.Owner == b.Owner }) {
		t.Meanwhile = append(t.Meanwhile, Span{Who: *b, From: b.Since})
	}
	if extra := len(t.Meanwhile) - maxMeanwhile; extra > 0 {
		share := func(s Span) time.Duration { return earlier(s.Until, until).Sub(later(s.From, a.Asked)) }
		slices.SortStableFunc(t.Meanwhile, func(x, y Span) int { return int(share(y) - share(x)) })
		t.Meanwhile, t.Others = t.Meanwhile[:maxMeanwhile], extra
	}
	slices.SortStableFunc(t.Meanwhile, func(x, y Span) int { return x.From.Compare(y.From) })
	return t
}

// Contended is how long callers waited for one lock.
type Contended struct {
	Lock string
	Totals
}

// Contended returns the locks that were waited for longest, by the sum of all waits: at most
// limit of those that sees accepts. It is an error if ctx ends before.
func (h *History) Contended(ctx context.Context, since time.Time, limit int, sees func(lock string) bool) ([]Contended, error) {
	v, err := h.view(ctx)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	locks := map[string]*Totals{}
	totals := func(lock string) *Totals {
		if locks[lock] == nil {
			locks[lock] = &Totals{}
		}
		return locks[lock]
	}
	waits := map[key]*Attempt{} // waits that another request may continue
	count := func(a *Attempt) {
		k := key{a.Lock, string(a.Who.Owner)}
		if w := waits[k]; w != nil {
			if delete(waits, k); w.asksAgain(a) {
				a.Asked = w.Asked
			} else {
				totals(w.Lock).add(w, now)
			}
		}
		if a.Outcome == Refused || a.Outcome == GaveUp {
			waits[k] = a
			return
		}
		totals(a.Lock).add(a, now)
	}
	err = h.scan(ctx, &v, "", since, func(l *line) {
		switch {
		case l.Kind == kindMore && l.Totals != nil && !l.To.Before(since):
			totals(l.Lock).merge(l.Totals)
		case l.Kind != kindAttempt || l.Outcome.goesOn() || l.Ended.Before(since):
		default:
			a := l.attempt()
			count(&a)
		}
	})
	if err != nil {
		return nil, err
	}
	for i := range v.open {
		count(&v.open[i])
	}
	for _, a := range waits {
		totals(a.Lock).add(a, now)
	}
	var out []Contended
	for lock, t := range locks {
		if sees(lock) {
			out = append(out, Contended{lock, *t})
		}
	}
	slices.SortFunc(out, func(a, b Contended) int {
		if d := b.Waited.Sum() - a.Waited.Sum(); d != 0 {
			return int(max(-1, min(1, d)))
		}
		return strings.Compare(a.Lock, b.Lock)
	})
	return out[:min(len(out), limit)], nil
}
