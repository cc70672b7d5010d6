package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/quorum"
)

// Look implements ledger.Table.
func (t *Table) Look(ctx context.Context, name string) (ledger.Reply, error) {
	s, err := t.listening.Wait(ctx)
	if err != nil {
		return ledger.Reply{}, err
	}
	r, err := s.look(ctx, name)
	if why := t.distrust(); why != nil && err == nil {
		r.Refusing = why.Error()
	}
	return r, err
}

// look reads what is there at the leader, and not what a member knew some time ago.
func (s *session) look(ctx context.Context, name string) (ledger.Reply, error) {
	is, err := s.newest(ctx, name)
	if err != nil {
		return ledger.Reply{}, settled(err)
	}
	return s.reply(ctx, name, is)
}

func (s *session) newest(ctx context.Context, name string) (row, error) {
	if err := s.sync(ctx, s.t.paths.root); err != nil {
		return row{}, err
	}
	return s.read(ctx, name)
}

// read reads the row of a name from the member that the session is with. What the session has
// written, or was told, it has.
func (s *session) read(ctx context.Context, name string) (row, error) {
	in, ok, err := s.peek(ctx, name)
	if err != nil || !ok {
		return row{}, err
	}
	path := s.t.paths.record(name)
	value, st, err := s.get(ctx, path)
	if isGone(err) {
		return row{in: in}, nil
	}
	if err != nil {
		return row{}, err
	}
	s.buckets.saw(name, st.Czxid, in.version)
	r, err := readRow(path, value, st)
	r.in = in
	return r, err
}

// Join implements ledger.Table. It reads and swaps, until nobody else has written between.
func (t *Table) Join(ctx context.Context, name string, e ledger.Entry, _ backend.Fence) (ledger.Reply, error) {
	s, err := t.listening.Wait(ctx)
	if err != nil {
		return ledger.Reply{}, err
	}
	is, err := s.newest(ctx, name)
	var unheard []string
	for {
		if err != nil {
			return ledger.Reply{}, settled(err)
		}
		next, ms, ok := is.Joined(e)
		if !ok {
			return s.reply(ctx, name, is)
		}
		w := &write{s: s, name: name, base: is.place, in: is.in, row: row{Row: next}}
		if w.text, err = w.row.Encode(); err != nil {
			return ledger.Reply{}, err
		}
		ms = slices.DeleteFunc(ms, func(m ledger.Message) bool { return slices.Contains(unheard, m.Node) })
		if w.mail, err = s.letters(quorum.About(name, ms), w); err != nil {
			return ledger.Reply{}, err
		}
		failed, err2 := w.commit(ctx)
		switch {
		case err2 != nil:
			return ledger.Reply{}, err2
		case failed == nil:
			return s.reply(ctx, name, w.row)
		case failed.what == deaf:
			unheard = append(unheard, failed.whom)
			continue
		}
		is, err = s.read(ctx, name)
	}
}

// List implements ledger.Table. The cursor is the parent and the last name told. A name that
// nobody uses is left out.
func (t *Table) List(ctx context.Context, prefix, cursor string, limit int) ([]ledger.Named, string, error) {
	s, err := t.listening.Wait(ctx)
	if err != nil {
		return nil, "", err
	}
	all, err := s.children(ctx, t.paths.records())
	if err != nil {
		return nil, "", settled(err)
	}
	sort.Strings(all)
	from, after, _ := strings.Cut(cursor, "/")
	all = slices.DeleteFunc(all, func(b string) bool { return b < from })
	l := listing{session: s, prefix: prefix, limit: max(limit, 1)}
	for some := range slices.Chunk(all, listTogether) {
		below := make([][]string, len(some))
		err := backend.Each(len(some), func(i int) (err error) {
			below[i], err = s.children(ctx, t.paths.records()+"/"+some[i])
			return err
		})
		if err != nil {
			return nil, "", settled(err)
		}
		for i, b := range some {
			if b != from {
				after = ""
			}
			if next, err := l.add(ctx, b, after, below[i]); next != "" || err != nil {
				return l.found, next, errors.Join(err, l.broken)
			}
		}
	}
	return l.found, "", l.broken
}

// listTogether is how many parents are asked at once.
const listTogether = 64

// listing is one page of a list.
type listing struct {
	*session
	prefix string
	limit  int
	found  []ledger.Named
	broken error
}

// add reads the names below one parent. next, if there is one, is where the next page begins.
func (l *listing) add(ctx context.Context, bucket, after string, children []string) (next string, err error) {
	sort.Strings(children)
	var wanted []string
	for _, c := range children {
		if name, ok := l.t.paths.name(c); ok && c > after && strings.HasPrefix(name, l.prefix) {
			wanted = append(wanted, c)
		}
	}
	for some := range slices.Chunk(wanted, l.limit) {
		rows := make([]row, len(some))
		errs := make([]error, len(some))
		_ = backend.Each(len(some), func(i int) error {
			name, _ := l.t.paths.name(some[i])
			rows[i], errs[i] = l.read(ctx, name)
			return nil
		})
		for i, c := range some {
			name, _ := l.t.paths.name(c)
			switch is := rows[i]; {
			case errs[i] != nil && ctx.Err() != nil:
				return "", errs[i]
			case errs[i] != nil:
				l.broken = fmt.Errorf("%w: %w", backend.ErrPartly, errs[i])
			case is.InUse():
				one, err := l.reply(ctx, name, is)
				if err != nil {
					return "", err
				}
				l.found = append(l.found, ledger.Named{Name: name, Reply: one})
			}
			if len(l.found) >= l.limit {
				return bucket + "/" + c, nil
			}
		}
	}
	return "", nil
}
