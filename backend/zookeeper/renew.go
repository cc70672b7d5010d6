package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/quorum"
)

// Renew implements ledger.Table. It reads the records: as long as the session lives, and the
// hold is in the record under it, nobody takes it. Nothing is written, unless the hold is to
// last longer than is written there, or is under another session.
func (t *Table) Renew(ctx context.Context, rs []ledger.Renewal) ([]error, error) {
	errs := make([]error, len(rs))
	s, err := t.listening.Wait(ctx)
	if err != nil {
		return nil, err
	}
	begin := now()
	anew := make([]bool, len(rs))
	for i, r := range rs {
		anew[i] = !t.stakes.prolong(r.Name, r.ID, begin+r.TTL)
	}
	if err := s.sync(ctx, t.paths.root); err != nil { // the leader knows the session
		return nil, settled(err)
	}
	_ = backend.Each(len(rs), func(i int) error {
		errs[i] = settled(s.renew(ctx, rs[i], begin, anew[i]))
		return nil
	})
	if len(rs) == 1 && errs[0] != nil && !errors.Is(errs[0], backend.ErrNotHeld) {
		return nil, errs[0]
	}
	return errs, nil
}

// renew has the hold that r names last for longer. anew: this process may be about to write
// down that it is over, so that it is written in any case.
func (s *session) renew(ctx context.Context, r ledger.Renewal, begin time.Duration, anew bool) error {
	for range quorum.Tries {
		is, err := s.read(ctx, r.Name)
		if err != nil {
			return err
		}
		if !is.Holds(r.ID) {
			s.t.stakes.drop(r.Name, r.ID)
			return backend.ErrNotHeld
		}
		e, _ := is.Ends.Find(r.ID)
		ttl := max(e.TTL, r.TTL)
		if !anew && e.Under == s.id && e.TTL >= ttl && e.Spare >= s.endOf(ttl).Spare {
			return nil
		}
		s.t.stakes.claim(r.Name, r.ID, begin+r.TTL)
		next := s.endOf(ttl)
		next.ID = r.ID
		w := s.rewrite(r.Name, &is, next)
		w.own = true
		failed, err := w.commit(ctx)
		switch {
		case err != nil:
			return err
		case failed == nil:
			s.t.stakes.firm(r.Name, r.ID)
			return nil
		}
		if err := s.refused(ctx, failed); err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: others write the record of %s all the time", backend.ErrRefused, r.Name)
}

// rewrite is a write of the same row with another end of one hold. The version stays.
func (s *session) rewrite(name string, is *row, e quorum.End) *write {
	return &write{s: s, name: name, base: is.place, in: is.in, row: row{Row: is.Renewed(e, is.version())}}
}

// expireEvery is how often is looked for holds that nobody has renewed.
const expireEvery = 250 * time.Millisecond

// expire writes down that holds of this node are over that were not renewed in time: as long
// as the session lives, nobody else can know.
func (t *Table) expire() {
	for backend.Wait(t.Life, expireEvery) {
		due := t.stakes.due(now())
		s := t.listening.Present()
		if s == nil || len(due) == 0 {
			continue
		}
		ctx, cancel := context.WithTimeout(t.Life, quorum.ProbeTime)
		_ = backend.Each(len(due), func(i int) error {
			_ = s.giveUp(ctx, due[i]) // it is tried again
			return nil
		})
		cancel()
	}
}

// giveUp writes down that a hold is over.
func (s *session) giveUp(ctx context.Context, k stakeKey) error {
	at := now()
	is, err := s.read(ctx, k.name)
	if err != nil {
		return err
	}
	e, ok := is.Ends.Find(k.id)
	if !ok || e.Under == "" || !is.Holds(k.id) {
		s.t.stakes.gaveUp(k, at)
		return nil
	}
	if !s.t.stakes.over(k, at) {
		return nil
	}
	w := s.rewrite(k.name, &is, quorum.End{ID: k.id, Until: quorum.Clock()})
	failed, err := w.commit(ctx)
	if err == nil && failed == nil {
		s.t.stakes.gaveUp(k, at)
	}
	return err
}
