package session

import (
	"context"
	"strconv"
	"sync/atomic"

	"github.com/lockgw/lockgw/backend"
)

// place finds or makes the place of a name; nil once the Manager is closed.
func (m *Manager) place(k placeKey) *place {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.places[k]
	if p == nil && !m.closed {
		_, journaled := m.journaled[k]
		delete(m.journaled, k)
		p = &place{m: m, key: k, journaled: journaled}
		m.places[k] = p
		if k.slot != "" {
			m.join(p)
		}
	}
	return p
}

// crowd is the places of one name that have a slot.
type crowd struct {
	places  int          // guarded by Manager.mu
	waiters atomic.Int64 // in all of their queues
}

func (m *Manager) join(p *place) {
	c := m.slotted[p.key.name]
	if c == nil {
		c = &crowd{}
		m.slotted[p.key.name] = c
	}
	c.places++
	p.queue.beside = &c.waiters
}

func (m *Manager) part(p *place) {
	c := m.slotted[p.key.name]
	if c.places--; c.places == 0 {
		delete(m.slotted, p.key.name)
	}
}

// keyFor is where a new waiter for name stands: with all others of this node, or by
// itself where the store orders all waiters. That is so for those who do not want the
// name alone, and, so that nobody passes who came earlier, for all who come while one of these
// is here.
func (m *Manager) keyFor(name string, mode backend.Mode) placeKey {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.cfg.Fairness.Strict && mode == backend.Exclusive && m.slotted[name] == nil {
		return placeKey{name: name}
	}
	return placeKey{name, strconv.FormatUint(m.slots.Add(1), 10)}
}

// forget drops a place that has nothing to do any more.
func (m *Manager) forget(p *place) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.places, p.key)
	if p.key.slot != "" {
		m.part(p)
	}
	if p.journaled {
		m.putAside(p.key)
	}
	if m.empty != nil && len(m.places) == 0 {
		close(m.empty)
		m.empty = nil
	}
}

// putAside leaves a name in the journal that is likely to be used again: to ask the
// store for it in vain, should this process be killed, costs less than to write twice
// for each hold.
func (m *Manager) putAside(k placeKey) {
	if len(m.journaled) >= maxJournaled {
		for old := range m.journaled {
			delete(m.journaled, old)
			m.cfg.Journal.Idle(old.entry())
			break
		}
	}
	m.journaled[k] = struct{}{}
}

// noteIdle tells the next process that there is nothing to ask for.
func (m *Manager) noteIdle() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for k := range m.journaled {
		m.cfg.Journal.Idle(k.entry())
	}
	clear(m.journaled)
}

// floor is the highest fence that name may have had here. A store that lives in this
// process has forgotten what the process before gave, and its clock may have gone back.
// In one that others share, the fences of one name must not drive up those of another.
func (m *Manager) floor(name string) backend.Fence {
	m.mu.Lock()
	defer m.mu.Unlock()
	return max(m.fences[name], m.mark)
}

// raise remembers that fence was given.
func (m *Manager) raise(name string, fence backend.Fence) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.fences) >= maxFences {
		for n, f := range m.fences { // any one: the store's clock covers what is forgotten, or the mark does
			if !m.Info().Shared {
				m.mark = max(m.mark, f)
			}
			delete(m.fences, n)
			break
		}
	}
	m.fences[name] = max(m.fences[name], fence)
}

// hinted hands a message from the store to whom it concerns.
func (m *Manager) hinted(h backend.Hint) {
	if h.Kind == backend.HintResync {
		for _, p := range m.all() {
			p.hinted(h)
		}
		return
	}
	k := placeKey{h.Name, h.Slot}
	m.mu.Lock()
	p := m.places[k]
	m.mu.Unlock()
	if p == nil && h.Kind == backend.HintGranted {
		p = m.place(k) // to give back what nobody here waits for
	}
	if p != nil {
		p.hinted(h)
	}
}

func (m *Manager) all() []*place {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]*place, 0, len(m.places))
	for _, p := range m.places {
		out = append(out, p)
	}
	return out
}

// describe tells the store of a turn, on a goroutine of its own.
func (m *Manager) describe(p *place, r backend.Request) {
	m.wg.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), m.cfg.Timeout)
		defer cancel()
		p.described(r, m.b.Describe(ctx, r))
	})
}

// promote has the store pass the name on if the contender to whom p passed it
// has not confirmed.
func (m *Manager) promote(p *place) {
	m.wg.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), m.cfg.Timeout)
		defer cancel()
		a, _ := m.b.Promote(ctx, p.key.name) // without an answer the waiters' own timers are left
		p.watched(a)
	})
}
