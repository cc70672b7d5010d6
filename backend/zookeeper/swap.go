package zookeeper

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/quorum"
)

// Swap implements ledger.Table.
func (t *Table) Swap(ctx context.Context, w ledger.Swap) (ledger.Reply, error) {
	s, err := t.listening.Wait(ctx)
	if err != nil {
		return ledger.Reply{}, err
	}
	return s.swap(ctx, w)
}

func (s *session) swap(ctx context.Context, asked ledger.Swap) (ledger.Reply, error) {
	if asked.Effects.Evicts {
		return ledger.Reply{}, fmt.Errorf("%w: nobody outside lockgw has a lock in ZooKeeper", backend.ErrConflict)
	}
	if err := s.t.distrust(); err != nil && asked.Effects.Grants {
		return ledger.Reply{}, err
	}
	is, same, err := s.base(ctx, asked)
	if err != nil {
		return ledger.Reply{}, err
	}
	if !same {
		return s.reply(ctx, asked.Name, is)
	}
	var unheard []string
	for n := 0; n < quorum.Tries; n++ {
		w, over, err := s.compose(ctx, asked, is)
		if err != nil {
			return ledger.Reply{}, err
		}
		if !over {
			before := is.place
			if is, err = s.newest(ctx, asked.Name); err != nil {
				return ledger.Reply{}, quorum.Unasked(settled(err))
			}
			if is.version() == asked.Base && is.place != before { // a renewal, or its opposite, has written it anew
				continue
			}
			return s.reply(ctx, asked.Name, is)
		}
		failed, err := w.commit(ctx)
		switch {
		case err != nil:
			return ledger.Reply{}, err
		case failed == nil:
			return s.written(w, unheard), nil
		case failed.what == deaf:
			unheard = append(unheard, failed.whom)
			asked.Effects.Messages = slices.DeleteFunc(slices.Clone(asked.Effects.Messages), func(m ledger.Message) bool { return m.Node == failed.whom })
			n--
			continue
		}
		if err := s.refused(ctx, failed); err != nil {
			return ledger.Reply{}, err
		}
		if is, err = s.read(ctx, asked.Name); err != nil {
			return ledger.Reply{}, quorum.Unasked(err)
		}
		if is.version() != asked.Base || failed.what == living {
			return s.reply(ctx, asked.Name, is)
		}
		if is.place.born == 0 {
			if is.in, err = s.bucket(ctx, asked.Name); err != nil {
				return ledger.Reply{}, err
			}
		}
	}
	return ledger.Reply{}, backend.NotSent("others write what is beside the record of " + asked.Name + " all the time")
}

// base is the row that asked is about, as far as it is needed for the write. same: it is the
// one which asked names.
func (s *session) base(ctx context.Context, asked ledger.Swap) (is row, same bool, err error) {
	at, es, err := parseVersion(asked.Base)
	if err != nil {
		return row{}, false, err
	}
	in, err := s.bucket(ctx, asked.Name)
	if err != nil {
		return row{}, false, err
	}
	if at.born == 0 || s.buckets.know(asked.Name, at.born, in.version) {
		return row{Row: quorum.Row{Ends: es}, place: at, in: in}, true, nil
	}
	is, err = s.read(ctx, asked.Name)
	return is, is.version() == asked.Base, quorum.Unasked(err)
}

// refused is why what has failed is the end of it; nil: it is not.
func (s *session) refused(ctx context.Context, failed *part) error {
	switch failed.what {
	case ended:
		s.t.listening.Lost(s)
		return backend.NotSent("the session of this gateway with ZooKeeper has ended; it begins another")
	case trusted:
		return s.verify(ctx)
	case living:
		s.t.remains.lives(failed.whom)
	}
	return nil
}

// compose makes the write of asked on the row is. over: all that it ends is over, as far as
// that is known here.
func (s *session) compose(ctx context.Context, asked ledger.Swap, is row) (w *write, over bool, err error) {
	w = &write{s: s, name: asked.Name, base: is.place, in: is.in, grants: asked.Effects.Grants}
	w.birth, w.pulse = s.t.guard.proof()
	for _, id := range asked.Effects.Ended {
		e, ok := is.Ends.Find(id)
		if !ok {
			continue
		}
		left, err := s.t.remains.left(ctx, s, asked.Name, e)
		if err != nil {
			return nil, false, quorum.Unasked(err)
		}
		if left > 0 {
			return nil, false, nil
		}
		if e.Under != "" && !slices.Contains(w.dead, e.Under) {
			w.dead = append(w.dead, e.Under)
		}
	}
	begins := time.Duration(0) // the lease of a hold of this node
	w.row.Row, err = quorum.Swapped(&asked, is.Ends, s.t.Node(), w.in.top, func(ttl time.Duration) (quorum.End, error) {
		w.own, begins = true, ttl
		return s.endOf(ttl), nil
	})
	if err != nil {
		return nil, false, err
	}
	if h := w.row.Record.Firm(s.t.Node()); w.own && h != nil {
		s.t.stakes.claim(asked.Name, h.ID, now()+begins)
	}
	w.mail = s.letters(quorum.About(asked.Name, asked.Effects.Messages), w)
	return w, true, nil
}

// written is the reply to w, which was carried out.
func (s *session) written(w *write, unheard []string) ledger.Reply {
	t := s.t
	t.stakes.wrote(w.name, w.row.Ends)
	r := w.row.Reply(w.row.version())
	r.Written, r.Unheard = true, unheard
	t.remains.fill(w.name, w.row.Ends, &r.Record)
	t.unused.Note(w.name, &w.row.Row, w.row.place)
	return r
}

// reply tells row.
func (s *session) reply(ctx context.Context, name string, is row) (ledger.Reply, error) {
	r := is.Reply(is.version())
	for _, e := range is.Ends {
		if _, err := s.t.remains.left(ctx, s, name, e); err != nil {
			return ledger.Reply{}, err
		}
	}
	s.t.remains.fill(name, is.Ends, &r.Record)
	return r, nil
}
