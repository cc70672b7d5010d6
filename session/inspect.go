package session

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/session/contender"
	"github.com/lockgw/lockgw/session/engine"
)

// Inspect tells what is known of a name. The nodes that hold it or wait for it are asked;
// one that does not answer is shown as of when it last wrote. If the store cannot be
// asked the state is unknown, with what this node knows by itself. CodeInvalid.
func (m *Manager) Inspect(ctx context.Context, name string) (Status, error) {
	if err := CheckName(name); err != nil {
		return Status{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, m.cfg.Timeout)
	defer cancel()
	a, err := m.engine.Ask(ctx, name)
	s := m.statusOf(name, &a)
	s.Shares = firstOf(s.Shares)
	if err != nil {
		s.State, s.Trouble = StateUnknown, err.Error()
	}
	return s, nil
}

// firstOf are the shares with the lowest fences, as many as are told.
func firstOf(all []Share) []Share {
	slices.SortStableFunc(all, func(a, b Share) int { return cmp.Compare(a.Fence, b.Fence) })
	return slices.Clip(all[:min(len(all), backend.MaxSeveral)])
}

// statusOf is what a store and the nodes that were asked say of a name, with what this
// node knows exactly in place of what it has told the store.
func (m *Manager) statusOf(name string, a *engine.Answer) Status {
	s := Status{Name: name, State: StateFree, Fence: a.Reply.Record.Top, Trouble: a.Reply.Refusing}
	here, ours := m.callersOf(name) // not ours: this node has stopped, and leaves its holds to the next process
	for i := range a.Reply.Record.Holds {
		h := &a.Reply.Record.Holds[i]
		if h.Offered || h.Node == m.store.Node() && ours || h.End <= 0 {
			continue
		}
		if t, ok := a.Told[h.Node]; ok {
			s.addTold(h, t)
		} else {
			s.addHold(h)
			// Who waits at the node that has the name alone stands in no queue of the store.
			s.MoreWait = s.MoreWait || h.Mode == backend.Exclusive && h.Node != "" && h.Node != m.store.Node()
		}
	}
	for _, e := range a.Reply.Record.Queue {
		if t, ok := a.Told[e.Node]; ok {
			s.Waiters += t.Waiters
		} else if e.Node != m.store.Node() {
			s.Waiters, s.MoreWait = s.Waiters+max(e.Waiters, 1), true
		}
	}
	for node, t := range a.Told {
		if a.Reply.Record.Entry(node) == nil { // its callers come after all who stand in the queue
			s.Waiters += t.Waiters
		}
	}
	s.addOurs(here)
	if s.State == StateFree {
		if given, _ := m.given(name, a); given != 0 { // what was reserved above it was never given
			s.Fence = given
		}
	}
	if m.cfg.Fairness.Strict {
		s.Next, s.Ahead = s.firstIn(m.store.Node(), a, time.Now())
	} else {
		s.Next, s.Ahead = s.next(m.store.Node(), a), s.ahead(m.store.Node(), a)
	}
	if s.Mode == backend.Exclusive {
		s.Shares = nil
	}
	for _, node := range a.Silent {
		s.Silent = append(s.Silent, silentIn(&a.Reply, node, time.Now()))
	}
	return s
}

// silentIn is node, of which r has something that it has not told anew.
func silentIn(r *ledger.Reply, node string, now time.Time) (s Silent) {
	wrote := int64(0)
	for _, h := range r.Record.Holds {
		if h.Node != node {
			continue
		}
		wrote = max(wrote, h.At)
		for _, c := range h.Callers {
			is := holderFrom(node, c)
			s.Node = is.Node
			if is.Since.After(s.AsOf) && is.Since.Before(now) { // it did not know the clock of the store yet, perhaps
				s.AsOf = is.Since
			}
		}
	}
	if e := r.Record.Entry(node); e != nil {
		wrote = max(wrote, e.At)
	}
	if wrote != 0 {
		s.AsOf = now.Add(-time.Duration(max(r.Clock-wrote, 0)) * time.Microsecond)
	}
	return s
}

// addTold adds a hold of another node as that node has just told it.
func (s *Status) addTold(h *ledger.Hold, t engine.Telling) {
	if t.Holds == 0 {
		return
	}
	for _, c := range t.Callers {
		s.add(holderFrom(h.Node, c), c.Fence, t.Left, h.Mode)
	}
	s.Holders += t.Holds - len(t.Callers)
}

// addHold adds a hold of another node as that node last wrote it.
func (s *Status) addHold(h *ledger.Hold) {
	left := h.End
	if h.Endless {
		left = 0
	}
	if len(h.Callers) == 0 {
		s.add(*holderIn(h), s.Fence, left, h.Mode)
		return
	}
	for _, c := range h.Callers {
		fence := max(c.Fence, h.ID)
		if h.Foreign() {
			fence = s.Fence // of the name: by that it can be broken
		}
		s.add(holderFrom(h.Node, c), fence, left, h.Mode)
	}
	s.Holders += max(h.Count-len(h.Callers), 0)
}

// add adds one who holds the name. The newest stands for all.
func (s *Status) add(h Holder, fence backend.Fence, left time.Duration, mode backend.Mode) {
	s.Holders++
	s.Shares = append(s.Shares, Share{h, fence, left})
	if s.State != StateHeld || fence >= s.Fence {
		s.State, s.Holder, s.Fence, s.TTL, s.Mode = StateHeld, &h, fence, left, mode
	}
}

// callers are those of this node who hold a name, and who wait for it.
type callers struct {
	holds   []Share
	mode    backend.Mode // of the holds
	waiting []Holder
	trouble error // why the store gave no answer
}

// callersOf are those of a name; false: it is not known here, or not any more.
func (m *Manager) callersOf(name string) (cs callers, known bool) {
	n := m.engine.Find(name)
	known = n.See(func(c *contender.Contender, now time.Duration) {
		for _, w := range c.In() {
			if at := engine.EndOf(c, w); w.Holds() && now < at {
				cs.holds, cs.mode = append(cs.holds, Share{leaseOf(w).holderNow(), w.Fence, at - now}), w.Mode
			}
		}
		for _, w := range c.Waiting() {
			cs.waiting = append(cs.waiting, leaseOf(w).holderNow())
		}
		cs.trouble = n.Trouble()
	})
	return cs, known
}

// addOurs adds the callers of this node.
func (s *Status) addOurs(cs callers) {
	for _, h := range cs.holds {
		s.add(h.Holder, h.Fence, h.TTL, cs.mode)
	}
	s.Waiters += len(cs.waiting)
	s.Queue = append(s.Queue, cs.waiting...)
	if cs.trouble != nil && len(s.Queue) > 0 {
		s.Trouble = cs.trouble.Error()
	}
}

// Check returns nil while fence is the newest grant of name, CodeFenceMismatch when it is
// not or the store has forgotten, CodeUnsupported, and CodeUnavailable where the node
// that holds the name does not say so.
func (m *Manager) Check(ctx context.Context, name string, fence backend.Fence) error {
	if err := CheckName(name); err != nil {
		return err
	}
	if !m.Info().Fencing {
		return &Error{Code: CodeUnsupported, Lock: name, Detail: "this store cannot order grants"}
	}
	if last, alone := m.lastHere(name); alone && last != 0 {
		return compare(name, fence, last)
	}
	ctx, cancel := context.WithTimeout(ctx, m.cfg.Timeout)
	defer cancel()
	a, err := m.engine.Ask(ctx, name)
	if err != nil {
		return unavailable(name, err)
	}
	newest, said := m.given(name, &a)
	if !said {
		return unsaid(name, fence, newest)
	}
	return compare(name, fence, newest)
}

// given is the newest fence that was given of name, 0: none is remembered. A node that has the
// name has given its own, also if it retains the name for its next caller. said: every such
// node has said which; if not, a newer one may have been given.
func (m *Manager) given(name string, a *engine.Answer) (newest backend.Fence, said bool) {
	newest, said = a.Reply.Record.Last, true
	if len(a.Reply.Deleted) > 0 { // what their nodes have given is not known
		newest = a.Reply.Record.Top
	}
	for i := range a.Reply.Record.Holds {
		h := &a.Reply.Record.Holds[i]
		over := h.Node != "" && !h.Offered && h.End <= 0 // nor is that
		if h.Foreign() || over {
			newest = a.Reply.Record.Top
		}
		if h.Node == "" || h.Offered || over {
			continue
		}
		last := a.Told[h.Node].Last
		if h.Node == m.store.Node() {
			last, _ = m.lastHere(name)
		}
		newest, said = max(newest, last, h.ID), said && last != 0
	}
	return newest, said
}

// unsaid is what Check says where the node that holds the name does not, and a fence as
// new as atLeast was given: older ones are not the newest in any case.
func unsaid(name string, fence, atLeast backend.Fence) error {
	if fence < atLeast {
		return compare(name, fence, atLeast)
	}
	return &Error{
		Code: CodeUnavailable, Lock: name, RetryAfter: time.Second,
		Detail: "the gateway that holds the lock did not say which of its callers has it; ask again",
	}
}

// lastHere is the newest fence given by this node under the hold that it has; 0: none. alone:
// it has the name alone.
func (m *Manager) lastHere(name string) (f backend.Fence, alone bool) {
	m.engine.Find(name).See(func(c *contender.Contender, _ time.Duration) { f, alone = c.Last() })
	return f, alone
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

// Scan is what the store tells of names that begin with prefix, from cursor on: of about n,
// in no order, perhaps of one twice. next is where to go on; "": that was all. The error is
// backend.ErrPartly if a part of the store is left out. It waits for at most Config.Timeout.
func (m *Manager) Scan(ctx context.Context, prefix, cursor string, n int) (some []Status, next string, err error) {
	ctx, cancel := context.WithTimeout(ctx, m.cfg.Timeout)
	defer cancel()
	rows, next, err := m.store.List(ctx, prefix, cursor, n)
	for _, row := range rows {
		some = append(some, m.statusOf(row.Name, &engine.Answer{Reply: row.Reply}))
	}
	return some, next, err
}

// Glance is what the store and this node know of a name; Inspect asks its holders, too.
func (m *Manager) Glance(ctx context.Context, name string) (Status, error) {
	r, err := m.store.Look(ctx, name)
	if err != nil {
		return Status{}, err
	}
	return m.statusOf(name, &engine.Answer{Reply: r}), nil
}
