package history

import (
	"slices"
	"time"

	"github.com/lockgw/lockgw/session"
)

// asking identifies an attempt by its start, because an owner asks for one lock only once
// at a time. holding identifies an attempt that was granted, because no fence is given
// twice.
type (
	asking struct {
		lock, owner string
		at          int64
	}
	holding struct {
		lock  string
		fence uint64
	}
)

// join puts together the lines about one attempt: a long attempt has several.
type join struct {
	all    []*Attempt
	asked  map[asking]*Attempt
	fenced map[holding]*Attempt
}

func newJoin() *join { return &join{asked: map[asking]*Attempt{}, fenced: map[holding]*Attempt{}} }

func (j *join) add(a Attempt) {
	ask := asking{a.Lock, string(a.Who.Owner), a.Asked.UnixMicro()}
	hold := holding{a.Lock, a.Fence}
	old := j.fenced[hold]
	if old == nil || a.Fence == 0 {
		old = j.asked[ask]
	}
	if old == nil || a.Asked.IsZero() && a.Fence == 0 {
		old = &Attempt{}
		j.all = append(j.all, old)
	}
	old.update(a)
	if !a.Asked.IsZero() {
		j.asked[ask] = old
	}
	if a.Fence != 0 {
		j.fenced[hold] = old
	}
}

// update replaces a by b, which is the newer line, and keeps what only a knows.
func (a *Attempt) update(b Attempt) {
	if b.Asked.IsZero() {
		b.Asked = a.Asked
	}
	if b.Behind == nil {
		b.Behind, b.Ahead = a.Behind, a.Ahead
	}
	*a = b
}

// settle marks as Unknown the attempts that seem to go on but are not among the open ones:
// the gateway ended before they did.
func (j *join) settle(open []Attempt) {
	live := newJoin()
	for _, a := range open {
		j.add(a)
		live.add(a)
	}
	for _, a := range j.all {
		isOpen := live.fenced[holding{a.Lock, a.Fence}] != nil && a.Fence != 0 ||
			live.asked[asking{a.Lock, string(a.Who.Owner), a.Asked.UnixMicro()}] != nil
		if a.Outcome.goesOn() && !isOpen {
			a.Outcome = Unknown
		}
	}
	j.succeed()
}

// succeed marks as Unknown the holds of one lock that seem to go on though there was another one
// after them that cannot be beside them: their end was dropped. A later hold has a larger fence,
// and, unless the lock has moved to another store or the clock was set, a later time.
func (j *join) succeed() {
	held := slices.DeleteFunc(slices.Clone(j.all), func(a *Attempt) bool { return a.Granted.IsZero() })
	slices.SortFunc(held, func(a, b *Attempt) int { return a.Granted.Compare(b.Granted) })
	var newest, alone uint64 // fences of the later holds: of all, and of the exclusive ones
	for _, a := range slices.Backward(held) {
		next := alone
		if a.Mode == exclusive {
			next, alone = newest, max(alone, a.Fence)
		}
		if newest = max(newest, a.Fence); a.Outcome == Holding && a.Fence != 0 && a.Fence < next {
			a.Outcome = Unknown
		}
	}
}

// again is how soon a client that goes on waiting sends its next request, as `lockgw run`
// does when the longest wait of one request is over or when the gateway was restarted.
const again = 15 * time.Second

// asksAgain reports whether b continues the wait of a, which came before it.
func (a *Attempt) asksAgain(b *Attempt) bool {
	if !a.Granted.IsZero() || a.Asked.IsZero() || b.Asked.IsZero() || b.Asked.Before(a.Asked) {
		return false
	}
	switch a.Outcome {
	case Unknown:
		return true // the owner is the same, so its session has come back after a restart
	case GaveUp:
	case Refused:
		switch session.Code(a.Reason) {
		case session.CodeWaitTimeout, session.CodeDraining, session.CodeUnavailable, session.CodeOutcomeUnknown, session.CodeTooManyWaiters:
		default:
			return false
		}
	default:
		return false
	}
	return b.Asked.Sub(a.Ended) < again
}

// chain joins the attempts by which one client went on waiting into one, which began when
// the first of them did. all has to be sorted by when the attempts began.
func chain(all []*Attempt) []*Attempt {
	last := map[key]*Attempt{}
	gone := map[*Attempt]bool{}
	for _, b := range all {
		k := key{b.Lock, string(b.Who.Owner)}
		if a := last[k]; a != nil && a.asksAgain(b) {
			b.Asked = a.Asked
			if a.Behind != nil {
				b.Behind, b.Ahead = a.Behind, a.Ahead
			}
			gone[a] = true
		}
		last[k] = b
	}
	out := all[:0]
	for _, a := range all {
		if !gone[a] {
			out = append(out, a)
		}
	}
	sortByBegin(out) // some have begun earlier now
	return out
}

func sortByBegin(all []*Attempt) {
	slices.SortStableFunc(all, func(a, b *Attempt) int { return a.began().Compare(b.began()) })
}
