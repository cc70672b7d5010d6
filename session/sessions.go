package session

import (
	"slices"
	"strings"
	"time"
)

// MostNames is how many names a Summary has of each kind.
const MostNames = 20

// Summary is what there is to tell about a session, but for what would let somebody
// speak for it.
type Summary struct {
	ID, UUID  string
	Name      string
	Meta      map[string]string
	Peer      Peer
	Since     time.Time
	Life      Life          // what it lives by
	Process   int           // the PID that it is bound to; 0: none
	Conns     int           // connections that have joined it
	TTL       time.Duration // lease of its holds where an acquire asks for none
	Keepalive time.Duration // silence that ends it; 0: none does
	Left      time.Duration // of Keepalive, if nothing more is heard of it
	MaxHold   time.Duration // no hold lasts longer; 0: no bound
	Holds     int           // how many it has now
	Locks     []string      // their names in order, MostNames at most
	Waits     int           // how many of its requests wait
	Queues    []string      // for what, likewise
}

// Query chooses sessions for Manager.Sessions.
type Query struct {
	Prefix string // of Options.Name
	After  string // "", or what the last call returned as next
	Limit  int    // at most so many, 1 or more
	// Sees, if set, leaves the names that it does not accept out of all that is told,
	// and sessions that neither hold nor wait for another one.
	Sees func(lock string) bool
}

// Sessions lists the sessions of this node, in the order of their IDs. next is "" at
// the end. A session that is there all the time is on exactly one page; what a
// Summary says is true of a moment within the call, and of each by itself. Who holds
// locks or opens sessions meanwhile does not wait for it.
func (m *Manager) Sessions(q Query) (page []Summary, next string) {
	found := m.index.after(q.After, q.Limit+1, func(s *Session) bool {
		return strings.HasPrefix(s.o.Name, q.Prefix) && (q.Sees == nil || s.concerns(q.Sees))
	})
	if len(found) > q.Limit {
		found = found[:q.Limit]
		next = found[q.Limit-1].id
	}
	for _, s := range found {
		if s.Err() == nil {
			page = append(page, s.summary(q.Sees))
		}
	}
	return page, next
}

// concerns: s holds or waits for a name that sees accepts.
func (s *Session) concerns(sees func(lock string) bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k := range s.holds {
		if sees(k.name) {
			return true
		}
	}
	for _, l := range s.waiting {
		if sees(l.name) {
			return true
		}
	}
	return false
}

func (s *Session) summary(sees func(lock string) bool) Summary {
	o := s.o
	sum := Summary{
		ID: s.id, UUID: s.uuid, Name: o.Name, Meta: o.Meta, Peer: o.Peer, Since: s.since, Life: s.life(),
		Process: o.Process.PID, TTL: o.TTL, Keepalive: o.Keepalive, MaxHold: o.MaxHold,
	}
	for _, l := range s.Leases() {
		if l.Err() == nil && (sees == nil || sees(l.name)) { // what is late is lost, whether or not it was told
			sum.Holds++
			sum.Locks = append(sum.Locks, l.name)
		}
	}
	for _, w := range s.Waits() {
		if sees == nil || sees(w.Name) {
			sum.Waits++
			sum.Queues = append(sum.Queues, w.Name)
		}
	}
	sum.Locks, sum.Queues = few(sum.Locks), few(sum.Queues)
	s.mu.Lock()
	defer s.mu.Unlock()
	sum.Conns = s.conns
	if o.Keepalive > 0 {
		sum.Left = max(0, s.silenceLeftLocked())
	}
	return sum
}

// few are the first of names, which are in order; two threads may have the same.
func few(names []string) []string {
	names = slices.Compact(names)
	return slices.Clone(names[:min(len(names), MostNames)])
}
