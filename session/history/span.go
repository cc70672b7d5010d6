package history

import (
	"slices"
	"time"

	"github.com/lockgw/lockgw/session"
)

// Span is who held a lock, and when as far as that is known.
type Span struct {
	Who         session.Holder
	From, Until time.Time // zero: not known
}

// spansOf returns the holds among attempts, in the order of their grants. One of which only the
// gateway's end is known was over at the latest when a hold began that cannot be beside it.
func spansOf(all []*Attempt, seen []Span) []Span {
	held := slices.DeleteFunc(slices.Clone(all), func(a *Attempt) bool { return a.Granted.IsZero() })
	slices.SortStableFunc(held, func(a, b *Attempt) int { return a.Granted.Compare(b.Granted) })
	out := make([]Span, len(held))
	var next, alone time.Time // when the next hold began, and the next exclusive one
	for i, a := range slices.Backward(held) {
		out[i] = Span{a.Who, a.Granted, a.Ended}
		if a.Outcome == Unknown {
			if out[i].Until = alone; a.Mode == exclusive {
				out[i].Until = earlier(next, elsewhere(seen, a.Granted))
			}
		}
		if next = a.Granted; a.Mode == exclusive {
			alone = next
		}
	}
	return out
}

// elsewhere is when a hold began that was seen on another node after t; zero: none was.
func elsewhere(seen []Span, t time.Time) time.Time {
	i := slices.IndexFunc(seen, func(s Span) bool { return s.From.After(t) })
	if i < 0 {
		return time.Time{}
	}
	if since := seen[i].Who.Since; since.After(t) && since.Before(seen[i].From) {
		return since
	}
	return seen[i].From
}

// merge makes one of the sightings of one hold, from the first to the last of them: each caller
// that comes to stand first is told anew.
func merge(seen, holds []Span) []Span {
	out := seen[:0]
	for _, s := range seen {
		if n := len(out) - 1; n >= 0 && out[n].Who.Owner == s.Who.Owner && out[n].Who.Since.Equal(s.Who.Since) &&
			(!s.Who.Since.IsZero() || grantedAfter(holds, out[n].Until) == grantedAfter(holds, s.Until)) {
			out[n].Until = s.Until
			continue
		}
		out = append(out, s)
	}
	return out
}

// grantedAfter is the first of holds that began at t or later.
func grantedAfter(holds []Span, t time.Time) int {
	at, _ := slices.BinarySearchFunc(holds, t, func(h Span, t time.Time) int { return h.From.Compare(t) })
	return at
}

// between sets the end of each hold that was seen on another node from From to Until: it was over
// at the latest when somebody else was seen to hold the lock, or was granted it here.
func between(seen, holds []Span) []Span {
	for i := range seen {
		s := &seen[i]
		told := s.Until
		s.Until = time.Time{}
		if since := s.Who.Since; !since.IsZero() && since.Before(s.From) {
			s.From = since
		}
		if i+1 < len(seen) {
			s.Until = seen[i+1].From
			if since := seen[i+1].Who.Since; since.After(told) && since.Before(s.Until) {
				s.Until = since
			}
		}
		if at := grantedAfter(holds, told); at < len(holds) && (s.Until.IsZero() || holds[at].From.Before(s.Until)) {
			s.Until = holds[at].From
		}
	}
	return seen
}

// overlap returns the spans, except those of the owner but, that overlap the time between
// from and until. Only the newest 10,000 are looked at.
func overlap(spans []Span, from, until time.Time, but string) []Span {
	const far = 10_000
	at, _ := slices.BinarySearchFunc(spans, until, func(s Span, t time.Time) int { return s.From.Compare(t) })
	var out []Span
	for i := at - 1; i >= 0 && i >= at-far; i-- {
		s := spans[i]
		if string(s.Who.Owner) != but && (s.Until.IsZero() || s.Until.After(from)) {
			out = append(out, s)
		}
	}
	return out
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// earlier takes a zero time for one that has not come yet.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
