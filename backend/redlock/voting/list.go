package voting

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

// hasFailed stands for a server in a cursor.
const hasFailed = 'x'

// List implements ledger.Table. It lists one server after the other: what a majority has is
// on each majority of them. A name is told as it stands on a majority, perhaps again by a
// later call, with another server that has it. One that reaches a server only after that was
// listed, because its write was late there, can be missing until the next list.
//
// The cursor is the server, what stands for those that have failed, and that server's own
// cursor.
func (t *Table) List(ctx context.Context, prefix, cursor string, limit int) ([]ledger.Named, string, error) {
	server, failed := 0, []byte(strings.Repeat(".", len(t.tables)))
	if cursor != "" {
		parts := strings.SplitN(cursor, " ", 3)
		n, err := strconv.Atoi(parts[0])
		if err != nil || n < 0 || n >= len(t.tables) || len(parts) != 3 || len(parts[1]) != len(failed) {
			return nil, "", fmt.Errorf("%w: %q is no cursor", backend.ErrInvalid, cursor)
		}
		server, failed, cursor = n, []byte(parts[1]), parts[2]
	}
	var rows []ledger.Named
	var errs []error
	for server < len(t.tables) && len(rows) < limit {
		found, next, err := t.listOne(ctx, server, prefix, cursor, limit-len(rows))
		if cursor = next; err != nil && !errors.Is(err, backend.ErrPartly) {
			failed[server], cursor = hasFailed, ""
			errs = append(errs, fmt.Errorf("server %d: %w", server+1, err))
		}
		found = slices.DeleteFunc(found, func(n ledger.Named) bool {
			return slices.ContainsFunc(rows, func(r ledger.Named) bool { return r.Name == n.Name })
		})
		rows = append(rows, t.stand(ctx, found)...)
		if cursor == "" {
			server++
		}
	}
	good := len(failed) - bytes.Count(failed, []byte{hasFailed})
	switch {
	case server < len(t.tables):
		return rows, fmt.Sprintf("%d %s %s", server, failed, cursor), nil
	case good < t.quorum:
		err := fmt.Errorf("%w: %d of %d servers have told which names they have, and %d are needed", backend.ErrPartly, good, len(t.tables), t.quorum)
		return rows, "", several(append([]error{err}, errs...))
	}
	return rows, "", nil
}

func (t *Table) listOne(ctx context.Context, server int, prefix, cursor string, limit int) ([]ledger.Named, string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return t.tables[server].List(ctx, prefix, cursor, limit)
}

// stand reads the names that were found.
func (t *Table) stand(ctx context.Context, found []ledger.Named) []ledger.Named {
	var mu sync.Mutex
	var out []ledger.Named
	_ = backend.Each(len(found), func(i int) error {
		a := t.look(ctx, found[i].Name, t.agreed)
		v, ok := common(a.rows, t.quorum)
		if !ok { // for people that will do
			v = newest(a.rows)
		}
		x := read(a.rows, v, len(t.tables), t.clock())
		if r := x.reply(); r.Version != "" && r.Record.InUse() {
			mu.Lock()
			defer mu.Unlock()
			out = append(out, ledger.Named{Name: found[i].Name, Reply: r})
		}
		return nil
	})
	return out
}

// Newest implements floor.Keeper. Whatever was granted, each majority has a server that knows.
func (t *Table) Newest(ctx context.Context) (newest backend.Fence, err error) {
	told := make(chan backend.Fence, len(t.tables))
	ended := t.each(ctx, func(ctx context.Context, s ledger.Table) error {
		k, ok := s.(interface {
			Newest(ctx context.Context) (backend.Fence, error)
		})
		if !ok {
			return fmt.Errorf("%w: it keeps no fences", backend.ErrRefused)
		}
		n, err := k.Newest(ctx)
		if err == nil {
			told <- n
		}
		return err
	})
	var errs []error
	for range t.tables {
		if err := <-ended; err != nil {
			errs = append(errs, err)
			continue
		}
		newest = max(newest, <-told)
	}
	if len(t.tables)-len(errs) < t.quorum {
		return 0, t.trouble("the newest fence", errs, false)
	}
	return newest, nil
}
