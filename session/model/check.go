package model

import "strings"

// Property is a set of things that must never come about.
type Property uint32

// The properties.
const (
	Exclusion  Property = 1 << iota // two callers were told that they hold, and the deadlines of both lie ahead
	FenceOrder                      // a turn was told with a fence that is not above every one told before
	ToldLate                        // a grant was told at or after its deadline
	Revived                         // a hold whose deadline had passed, and was told, goes on
	Bypassed                        // a node gave more turns than a block while another one waited
	Overtaken                       // a running process was refused as an older one
	WrongCount                      // the entries in the store are not those that were told
	Orphan                          // a lease is kept for nobody, or for one who gave it back
	Unaware                         // a node has forgotten a message: that it was granted the lock, or that another waits for it
	Asleep                          // the lock is free, and everybody who waits sleeps as if it were held
	Displaced                       // a node that waits was put behind one that came later
	Stuck                           // a waiter can never be served any more
)

var propertyNames = [...]string{
	"exclusion", "fence order", "told late", "revived", "bypassed", "overtaken", "wrong count", "orphan", "unaware", "asleep", "displaced", "stuck",
}

func (p Property) String() string {
	var names []string
	for b, name := range propertyNames {
		if p&(1<<b) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// check notes what is broken in s.
func (m *model) check(s *state) {
	n := 0
	for i := range m.places() {
		for _, c := range s.P[i].Client {
			if c == holds && s.P[i].Deadline > 0 {
				n++
			}
		}
	}
	if n > 1 {
		s.Broken |= Exclusion
	}
	if m.orphan(s) {
		s.Broken |= Orphan
	}
	if m.unaware(s) {
		s.Broken |= Unaware
	}
	if m.asleep(s) {
		s.Broken |= Asleep
	}
	if m.miscounted(s) {
		s.Broken |= WrongCount
	}
}

// orphan: the lease belongs to a running node that wants it for nobody and has
// nothing under way that gives it back.
func (m *model) orphan(s *state) bool {
	h := &s.H
	if h.By == 0 || h.By == foreign || h.Provisional || !m.runs(s, h.By-1) {
		return false
	}
	p := &s.P[h.By-1]
	if c := p.Cur; p.Phase == holding && c != 0 && p.Client[c-1] == away {
		return true // renewed for one who gave it back
	}
	if p.Req.Verb != none || p.wants() || p.Mail != (mail{}) || p.Hint != 0 {
		return false
	}
	for _, c := range p.Client {
		if c == waits || c == retries || c == dead {
			return false
		}
	}
	return p.Phase != holding // a holder's next release gives it back
}

// unaware is looked at where no message is lost.
func (m *model) unaware(s *state) bool {
	f := m.Faults
	if f.Hint+f.Deaf+f.Crash+f.Forget > 0 || s.H.By == 0 || s.H.By == foreign || !m.runs(s, s.H.By-1) {
		return false
	}
	p := &s.P[s.H.By-1]
	if s.H.Provisional {
		return p.Phase == queued && p.Req.Verb == none && p.Hint == 0 && p.Mail.Granted == 0
	}
	if p.Phase != holding || p.Hold != s.H.Fence || p.Others != 0 || p.Req.Verb != none || p.Mail.Others {
		return false
	}
	for _, e := range s.Q {
		if e.By != 0 && m.nodeOf(e.By) != m.nodeOf(s.H.By) {
			return true
		}
	}
	return false
}

// asleep is looked at where no message is lost for good.
func (m *model) asleep(s *state) bool {
	f := m.Faults
	if f.Hint+f.Crash+f.Forget > 0 || s.H.By != 0 || s.Guard > 0 || s.Q[0].By == 0 || s.Late.Verb != none {
		return false
	}
	reachable := false
	for i := range m.places() {
		p := &s.P[i]
		if p.Req.Verb != none || p.Watching || p.Watch != 0 || p.Mail != (mail{}) || p.Hint != 0 {
			return false
		}
		if p.Phase != queued || !m.runs(s, i) {
			continue
		}
		if p.Again <= window {
			return false
		}
		reachable = reachable || !s.N[m.nodeOf(i+1)].Deaf
	}
	return reachable
}

// miscounted: nothing is under way, and the store has not what was told.
func (m *model) miscounted(s *state) bool {
	if m.Faults.Enter == 0 || s.H.By == 0 || s.H.By == foreign || s.Late.Verb != none || s.Notes != ([maxNotes]request{}) {
		return false
	}
	p := &s.P[s.H.By-1]
	if p.Phase != holding || p.Hold != s.H.Fence || p.Req.Verb != none || !p.Told || p.Cur == 0 || p.Vague || p.Lazy {
		return false
	}
	return s.H.Count != p.Count || s.H.Owner != p.Cur
}

// displaced: r comes from a contender that waits and is not in the queue any more.
// It is looked at where no lease of its own can have run out unheard.
func (m *model) displaced(s *state, r *request) bool {
	f, p := m.Faults, &s.P[r.By-1]
	return f.Pause+f.Slow+f.Answer+f.Crash+f.Forget == 0 && r.Verb == acquire && p.Phase == queued && p.Attempt == r.Seq
}
