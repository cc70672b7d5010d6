package session

import (
	"strconv"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/session/journal"
)

// modern is what places says in the words of this version. In those before 0.1.0 each who
// shared a name, or had a permit of it, had a hold of its own in the store, and a slot in
// the journal that was a serial number: here they have one hold together, and the slot is
// the fence. So they are taken together, and the journal says the same from now on, or what
// is released would come back with the next process.
func (m *Manager) modern(places map[journal.Key]*journal.Place) map[journal.Key]*journal.Place {
	first := map[string]uint64{} // hold of such a name
	for k, p := range places {
		if k.Slot != "" && (p.Turn == nil || k != slotOf(k.Name, p.Turn)) {
			first[k.Name] = 0
		}
	}
	if len(first) == 0 {
		return places
	}
	for k, p := range places {
		if was, ok := first[k.Name]; ok && p.Turn != nil && (was == 0 || p.Turn.Hold < was) {
			first[k.Name] = p.Turn.Hold
		}
	}
	out := map[journal.Key]*journal.Place{}
	for k, p := range places {
		hold, former := first[k.Name]
		if !former || k.Slot == "" {
			out[k] = p
			continue
		}
		whole := journal.Key{Name: k.Name}
		if out[whole] == nil && places[whole] == nil {
			m.cfg.Journal.Wants(whole)
			out[whole] = &journal.Place{}
		}
		now := k
		if p.Turn != nil {
			t := *p.Turn
			t.Hold = hold
			now = slotOf(k.Name, &t)
			m.cfg.Journal.Told(now, t, nil)
			out[now] = &journal.Place{Turn: &t, Fence: t.Fence}
		}
		if p.Turn == nil || now != k {
			m.cfg.Journal.Idle(k)
		}
	}
	return out
}

// slotOf is where the journal has the turn of one of those who have the name together.
func slotOf(name string, t *journal.Turn) journal.Key {
	return journal.Key{Name: name, Slot: strconv.FormatUint(t.Fence, 10)}
}

// superseded: the node has had a later hold of the name than that of t, so t is over.
func (m *Manager) superseded(k journal.Key, t *journal.Turn, s *Session, c *journal.Session) {
	if s == nil {
		return
	}
	l := newLease(s, m, k.Name, t.Thread)
	l.c.Fence, l.c.Mode = backend.Fence(t.Fence), backend.Mode(t.Mode)
	m.cfg.Journal.Lost(k, s.id, l.loss(reasonGone))
	if c.Losses == nil {
		c.Losses = map[journal.Owner]journal.Lost{}
	}
	c.Losses[journal.Owner{Name: k.Name, Thread: t.Thread}] = l.loss(reasonGone) // for repeats
	if k.Slot != "" {
		m.cfg.Journal.Idle(k)
	}
	s.keepLost(holdKey{k.Name, t.Thread}, l.lostError(reasonGone))
}
