package session

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/lockgw/lockgw/backend"
)

// Inspect tells what is known of a name. If the store cannot be asked the state
// is unknown, with what this node knows by itself. CodeInvalid.
func (m *Manager) Inspect(ctx context.Context, name string) (Status, error) {
	if err := CheckName(name); err != nil {
		return Status{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, m.cfg.Timeout)
	defer cancel()
	st, err := m.b.Inspect(ctx, name)
	s := statusOf(st)
	s.Name = name
	if err != nil {
		s.State, s.Trouble = StateUnknown, err.Error()
	}
	m.addLocal(&s)
	s.Next = nextOf(s, st.Head)
	return s, nil
}

// nextOf is who is next. Callers of a node that holds the name stand in no queue of the
// store: they come after everybody who does.
func nextOf(s Status, head backend.Head) *Holder {
	switch local := len(s.Queue); {
	case s.Waiters == 0 || s.State == StateUnknown:
		return nil
	case local > 0 && (head == backend.HeadOurs || s.Waiters == local):
		return &s.Queue[0]
	case local == 0 || head == backend.HeadTheirs:
		return &Holder{Peer: NoPeer()}
	default:
		return nil
	}
}

func statusOf(st backend.Status) Status {
	s := Status{Name: st.Name, State: StateFree, Waiters: st.Waiters, Fence: st.Top, TTL: st.TTL, Trouble: st.Refusing}
	if st.Held {
		s.State, s.Holder = StateHeld, holderOf(st)
		if !st.Foreign { // else what Break asks for is the newest that the store knows of
			s.Fence = max(st.Turn, st.Hold)
		}
		s.Mode, s.Holders = st.Mode, max(st.Holders, 1)
	}
	for _, h := range st.Several {
		holder := holderOf(backend.Status{Held: true, Owner: h.Owner, Node: h.Node, Record: h.Record})
		s.Shares = append(s.Shares, Share{*holder, h.Fence, h.TTL})
	}
	return s
}

// addLocal puts what this node knows exactly in place of what it has told the
// store.
func (m *Manager) addLocal(s *Status) {
	for _, p := range m.placesOf(s.Name) {
		p.mu.Lock()
		p.addTo(s)
		p.mu.Unlock()
	}
	slices.SortFunc(s.Queue, func(a, b Holder) int { return a.Since.Compare(b.Since) })
}

func (p *place) addTo(s *Status) {
	now := p.m.cfg.Clock()
	if p.phase == queued && s.State != StateUnknown {
		s.Waiters -= p.told
	}
	s.Waiters = max(s.Waiters, 0) + p.queue.n
	for l := p.queue.first; l != nil; l = l.next {
		s.Queue = append(s.Queue, l.holder)
	}
	if p.queue.n > 0 && p.trouble != nil {
		s.Trouble = p.trouble.Error()
	}
	l := p.cur
	if l == nil || !p.has() || now >= p.hold.deadline {
		return
	}
	if s.Holders = max(s.Holders, 1); l.mode == backend.Exclusive || l.fence >= s.Fence {
		h := l.holder
		s.State, s.Holder, s.Fence, s.TTL, s.Mode = StateHeld, &h, l.fence, p.hold.deadline-now, l.mode
	}
}

// placesOf are the places of a name; more than one where its callers stand in the
// store's queue by themselves.
func (m *Manager) placesOf(name string) []*place {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.slotted[name] == nil {
		if p := m.places[placeKey{name: name}]; p != nil {
			return []*place{p}
		}
		return nil
	}
	var out []*place
	for k, p := range m.places {
		if k.name == name {
			out = append(out, p)
		}
	}
	return out
}

// Check returns nil while fence is the newest grant of name, CodeFenceMismatch
// when it is not or the store has forgotten, CodeUnsupported, CodeUnavailable.
func (m *Manager) Check(ctx context.Context, name string, fence backend.Fence) error {
	if err := CheckName(name); err != nil {
		return err
	}
	if !m.Info().Fencing {
		return &Error{Code: CodeUnsupported, Lock: name, Detail: "this store cannot order grants"}
	}
	for _, p := range m.placesOf(name) {
		if last := p.lastTurn(); last != 0 {
			return compare(name, fence, last)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, m.cfg.Timeout)
	defer cancel()
	st, err := m.b.Inspect(ctx, name)
	// The turns of another node become known here a moment late. If fence may be
	// such a turn, it is known after that moment or is not the newest any more.
	if err == nil && st.Held && fence > st.Turn && fence <= st.Top {
		t := time.NewTimer(describeAfter + slack)
		defer t.Stop()
		select {
		case <-t.C:
			st, err = m.b.Inspect(ctx, name)
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	switch {
	case err != nil:
		return &Error{Code: CodeUnavailable, Lock: name, RetryAfter: time.Second, Detail: err.Error()}
	case st.Held && !st.Foreign:
		return compare(name, fence, st.Turn)
	default:
		return compare(name, fence, st.Top)
	}
}

// lastTurn is the newest fence given by this node, if it has the name alone; else 0.
func (p *place) lastTurn() backend.Fence {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.phase != holding || p.late() || p.cur != nil && p.cur.mode != backend.Exclusive {
		return 0
	}
	return p.hold.last
}

func compare(name string, fence, newest backend.Fence) error {
	if fence == newest && fence != 0 {
		return nil
	}
	detail := fmt.Sprintf("fence %d is not the newest grant, which is %d", fence, newest)
	if newest == 0 {
		detail = fmt.Sprintf("no grant is remembered, so fence %d cannot be checked", fence)
	}
	return &Error{Code: CodeFenceMismatch, Lock: name, Detail: detail}
}
