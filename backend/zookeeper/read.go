package zookeeper

import (
	"context"
	"fmt"
	"slices"
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
	r, err := quorum.Decode(string(value))
	if err != nil {
		return row{}, fmt.Errorf("%w: the znode %s of ZooKeeper: %w", errForeign, path, err)
	}
	return row{r, placeOf(st), in}, nil
}

// Join implements ledger.Table.
func (t *Table) Join(ctx context.Context, name string, e ledger.Entry, _ backend.Fence) (ledger.Reply, error) {
	s, err := t.listening.Wait(ctx)
	if err != nil {
		return ledger.Reply{}, err
	}
	return ledger.JoinBySwap(ctx, name, e, s.look, s.swap)
}

// listTogether is how many parents are asked at once.
const listTogether = 64

// List implements ledger.Table. The cursor is the parent and the last name told. A name that
// nobody uses is left out.
func (t *Table) List(ctx context.Context, prefix, cursor string, limit int) ([]ledger.Named, string, error) {
	s, err := t.listening.Wait(ctx)
	if err != nil {
		return nil, "", err
	}
	wanted, next, err := s.page(ctx, prefix, cursor, max(limit, 1))
	if err != nil {
		return nil, "", settled(err)
	}
	rows, errs := make([]row, len(wanted)), make([]error, len(wanted))
	_ = backend.Each(len(wanted), func(i int) error {
		rows[i], errs[i] = s.read(ctx, wanted[i])
		return nil
	})
	var found []ledger.Named
	var broken error
	for i, name := range wanted {
		switch {
		case errs[i] != nil && ctx.Err() != nil:
			return nil, "", errs[i]
		case errs[i] != nil:
			broken = fmt.Errorf("%w: %w", backend.ErrPartly, errs[i])
		case rows[i].Record.InUse():
			one, err := s.reply(ctx, name, rows[i])
			if err != nil {
				return nil, "", err
			}
			found = append(found, ledger.Named{Name: name, Reply: one})
		}
	}
	return found, next, broken
}

// page is the names of one page of a list; next, if there is one, is the cursor of the next page.
func (s *session) page(ctx context.Context, prefix, cursor string, limit int) (names []string, next string, err error) {
	buckets, err := s.children(ctx, s.t.paths.records())
	if err != nil {
		return nil, "", err
	}
	from, _, _ := strings.Cut(cursor, "/")
	slices.Sort(buckets)
	buckets = slices.DeleteFunc(buckets, func(b string) bool { return b < from })
	for some := range slices.Chunk(buckets, listTogether) {
		below := make([][]string, len(some))
		err := backend.Each(len(some), func(i int) (err error) {
			below[i], err = s.children(ctx, s.t.paths.records()+"/"+some[i])
			return err
		})
		if err != nil {
			return nil, "", err
		}
		for i, b := range some {
			slices.Sort(below[i])
			for _, child := range below[i] {
				at := b + "/" + child
				name, ok := s.t.paths.name(child)
				if !ok || at <= cursor || !strings.HasPrefix(name, prefix) {
					continue
				}
				if len(names) == limit {
					return names, next, nil
				}
				names, next = append(names, name), at
			}
		}
	}
	return names, "", nil
}
