package redis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/redis/conn"
	"github.com/lockgw/lockgw/backend/selftest"
)

// scanStep is how many keys Redis looks at in one step of a listing.
const scanStep = 1000

// stepsOfPage bounds a page: among very many other keys, few names are found in the time
// that one request has.
const stepsOfPage = 100

// listing is one page of names. The cursor is that of Redis' SCAN, whose promise it keeps: a
// name that is there all the time is told at least once. In a cluster it says on which master,
// and a name that is moved meanwhile may be told twice or not. A master that does not answer is
// left out, which ErrPartly tells, unless none answers, and so is what is no record.
type listing struct {
	*Table
	prefix string

	seen    map[string]bool // names
	found   []ledger.Named
	missing []error // why a master is left out
	broken  error   // what has the key of a record and is none
}

// List implements ledger.Table. A name that nobody uses is left out.
func (t *Table) List(ctx context.Context, prefix, cursor string, limit int) ([]ledger.Named, string, error) {
	at, err := parseCursor(cursor)
	if err != nil {
		return nil, "", err
	}
	masters, err := t.servers.Masters(ctx)
	if err != nil {
		return nil, "", err
	}
	l := &listing{Table: t, prefix: prefix, seen: map[string]bool{}}
	for _, c := range masters {
		server := c.Options().Addr
		if len(masters) == 1 {
			server = ""
		}
		switch {
		case server < at.server:
			continue // done, or gone
		case server > at.server:
			at = position{server: server}
		}
		more, err := l.page(ctx, c, &at, limit)
		switch {
		case err != nil && len(masters) == 1:
			return nil, "", err
		case err != nil:
			l.missing = append(l.missing, fmt.Errorf("%s: %w", server, err))
		case more:
			return l.found, at.String(), l.partly(len(masters))
		}
	}
	return l.found, "", l.partly(len(masters))
}

// page goes on at a place of a server until the page is full or took its time (more), or
// the server is done.
func (l *listing) page(ctx context.Context, c *goredis.Client, at *position, limit int) (more bool, err error) {
	for range stepsOfPage {
		if at.scan, err = l.step(ctx, c, at.scan); err != nil || at.scan == 0 {
			return false, err
		}
		if len(l.found) >= limit {
			break
		}
	}
	return true, nil
}

// partly says which of so many masters are left out, or what else is, nil if nothing.
func (l *listing) partly(masters int) error {
	all := errors.Join(l.missing...)
	switch n := len(l.missing); {
	case n == 0 && l.broken != nil:
		return fmt.Errorf("%w: %s", backend.ErrPartly, selftest.Reason(l.broken))
	case n == 0:
		return nil
	case n == masters:
		return all
	default:
		text := strings.ReplaceAll(all.Error(), "\n", "; ")
		return fmt.Errorf("%w: what %d of %d masters have is missing: %s", backend.ErrPartly, n, masters, text)
	}
}

// step looks at some keys of a server and returns where to go on, 0 at the end.
func (l *listing) step(ctx context.Context, c *goredis.Client, at uint64) (uint64, error) {
	keys, next, err := c.Scan(ctx, at, recordPattern, scanStep).Result()
	if err != nil {
		return 0, conn.Outcome(err)
	}
	var names []string
	for _, key := range keys {
		raw, ok := rawOfRecord(key)
		name, ours := strings.CutPrefix(raw, l.cfg.KeyPrefix)
		if ok && ours && !hidden(name) && !l.seen[name] && strings.HasPrefix(name, l.prefix) {
			l.seen[name] = true
			names = append(names, name)
		}
	}
	all, broken := make([]ledger.Named, len(names)), make([]error, len(names))
	if err := backend.Each(len(names), func(i int) (err error) {
		all[i].Name = names[i]
		if all[i].Reply, err = l.Look(ctx, names[i]); errors.Is(err, errNoRecord) {
			broken[i], err = err, nil
		}
		return err
	}); err != nil {
		return 0, err
	}
	for i, one := range all {
		l.broken = cmp.Or(l.broken, broken[i])
		if one.Record.InUse() {
			l.found = append(l.found, one)
		}
	}
	return next, nil
}

// hidden: no lock is called so, but what a gateway tries the store by.
func hidden(name string) bool { return strings.HasPrefix(name, "lockgw:") }

// position is how far a List has come.
type position struct {
	scan   uint64
	server string // of a cluster's masters, in their order
}

func (p position) String() string {
	n := strconv.FormatUint(p.scan, 10)
	if p.server == "" {
		return n
	}
	return n + "@" + p.server
}

func parseCursor(cursor string) (position, error) {
	if cursor == "" {
		return position{}, nil
	}
	scan, server, _ := strings.Cut(cursor, "@")
	n, err := strconv.ParseUint(scan, 10, 64)
	if err != nil {
		return position{}, fmt.Errorf("%w: cursor: use the one that the last page returned", backend.ErrInvalid)
	}
	return position{n, server}, nil
}

// Newest implements floor.Keeper: no record is above the mark of its slot. It asks each master.
func (t *Table) Newest(ctx context.Context) (newest backend.Fence, err error) {
	masters, err := t.servers.Masters(ctx)
	if err != nil {
		return 0, err
	}
	for _, c := range masters {
		keys := []string{markOfServer}
		if conn.Clustered(t.cfg.URL) {
			if keys, err = marks(ctx, c); err != nil {
				return 0, err
			}
		}
		for _, key := range keys {
			text, err := c.Get(ctx, key).Result()
			if errors.Is(err, goredis.Nil) {
				continue
			}
			if goredis.HasErrorPrefix(err, "WRONGTYPE") {
				return 0, noMark(key)
			}
			if err != nil {
				return 0, conn.Outcome(err)
			}
			var clock, fence backend.Fence
			if _, err := fmt.Sscanf(text, "%d %d", &clock, &fence); err != nil {
				return 0, noMark(key)
			}
			newest = max(newest, fence)
		}
	}
	return newest, nil
}

// marks are the keys of all marks that a master has.
func marks(ctx context.Context, c *goredis.Client) (keys []string, err error) {
	all := c.Scan(ctx, 0, "lockgw:mark:*", scanStep).Iterator()
	for all.Next(ctx) {
		keys = append(keys, all.Val())
	}
	return keys, conn.Outcome(all.Err())
}
