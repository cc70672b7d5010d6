package redlock

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lockgw/lockgw/backend"
)

// view is what one node says of a name.
type view struct {
	backend.Status
	described int64
	counter   backend.Fence
	shares    []view // the holds, where several have the name at once
}

func viewOf(name string, a reply) view {
	v := view{
		Status: backend.Status{
			Name: name, Held: a.Number(0) == 1, Foreign: a.Number(1) == 1, Owner: backend.Owner(a.Text(2)), Count: int(a.Number(3)),
			Node: a.Text(4), Hold: a.Fence(5), Turn: a.Fence(6), Top: a.Fence(7), TTL: a.Millis(8), Waiters: int(a.Number(9)),
			Record: a.Text(10), Mode: backend.Mode(a.Number(13)),
		},
		described: a.Number(11), counter: a.Fence(12),
	}
	if v.Foreign && a.Text(14) != "" {
		v.Seen = a.Text(14) + " "
	}
	for i := 14; i+8 <= len(a); i += 8 {
		s := v
		s.Node, _, _ = strings.Cut(a.Text(i), ".")
		s.Hold, s.Turn, s.described = a.Fence(i+1), a.Fence(i+2), a.Number(i+3)
		s.TTL, s.Owner, s.Count, s.Record = a.Millis(i+4), backend.Owner(a.Text(i+5)), int(a.Number(i+6)), a.Text(i+7)
		v.shares = append(v.shares, s)
	}
	return v
}

// Inspect implements backend.Backend: what a majority says. It waits for all nodes
// that are there, for a request is over once a majority of them has run it.
func (b *Backend) Inspect(ctx context.Context, name string) (backend.Status, error) {
	k := keysOf(b.cfg.KeyPrefix + name)
	m := message{keys: []string{k.lock, k.state, k.waits, k.counter, k.last, k.shares, k.ends}}
	r := b.ask(ctx, inspectScript, m, func(*round) bool { return false })
	var views []view
	for _, v := range r.votes {
		if v.err == nil {
			views = append(views, viewOf(name, v.reply))
		}
	}
	if len(views) < b.quorum() {
		return backend.Status{Name: name}, r.unavailable()
	}
	return b.merge(name, oneForeigner(views)), nil
}

// merge makes one status of those of at least a majority. A name that a minority
// holds is free where a majority could grant it.
func (b *Backend) merge(name string, views []view) backend.Status {
	q := b.quorum()
	st := backend.Status{Name: name}
	for _, group := range groups(views) {
		if free := len(views) - len(group); free >= q {
			continue
		}
		if st.Holders++; st.Held && st.Hold > group[0].Hold {
			continue
		}
		newest := slices.MaxFunc(group, func(x, y view) int { return cmp.Or(cmp.Compare(x.described, y.described), cmp.Compare(x.Turn, y.Turn)) })
		n := st.Holders
		st = newest.Status
		st.Holders, st.TTL = n, nth(group, q, func(v view) time.Duration { return v.TTL })
	}
	st.Top = newestGiven(views)
	st.Waiters = nth(views, q, func(v view) int { return v.Waiters })
	return st
}

// newestGiven is the highest Top. Of nodes with the same counter, one whose Top is the
// counter itself has missed how the hold ended, if another knows.
func newestGiven(views []view) backend.Fence {
	knows := map[backend.Fence]bool{}
	for _, v := range views {
		knows[v.counter] = knows[v.counter] || v.Top < v.counter
	}
	var newest backend.Fence
	for _, v := range views {
		if v.Top < v.counter || !knows[v.counter] {
			newest = max(newest, v.Top)
		}
	}
	return newest
}

// groups are what the nodes say of each hold.
func groups(views []view) map[holdID][]view {
	g := map[holdID][]view{}
	for _, v := range views {
		switch {
		case v.Held && v.Mode == backend.Exclusive:
			id := holdID{fence: v.Hold}
			if v.Foreign {
				id.foreign = v.Owner
			}
			g[id] = append(g[id], v)
		default:
			for _, s := range v.shares {
				id := holdID{fence: s.Hold}
				g[id] = append(g[id], s)
			}
		}
	}
	return g
}

// holdID tells holds apart, also of those outside lockgw.
type holdID struct {
	fence   backend.Fence
	foreign backend.Owner
}

// nth is the n-th largest value, or the smallest.
func nth[T cmp.Ordered](views []view, n int, f func(view) T) T {
	var all []T
	for _, v := range views {
		all = append(all, f(v))
	}
	slices.Sort(all)
	return all[max(len(all)-n, 0)]
}

// scanStep is how many keys a node looks at in one step of List.
const scanStep = 1000

// List implements backend.Backend. What a majority has is on each set of nodes that
// is as large as all but a majority and one more, so the first of them will do. The
// cursor is the last name told; names come in order.
func (b *Backend) List(ctx context.Context, prefix, cursor string, limit int) ([]backend.Status, string, error) {
	names := map[string]bool{}
	answered := 0
	var failed []error
	for _, n := range b.nodes {
		if answered > len(b.nodes)-b.quorum() {
			break
		}
		found, err := b.namesOn(ctx, n, prefix)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		answered++
		for _, name := range found {
			names[name] = true
		}
	}
	if answered <= len(b.nodes)-b.quorum() {
		return nil, "", fmt.Errorf("%w: redlock: list: %d nodes answer: %s", backend.ErrUnavailable, answered, words(failed))
	}
	return b.page(ctx, names, cursor, limit)
}

// page inspects the next names, by name, so that the cursor is the last one.
func (b *Backend) page(ctx context.Context, names map[string]bool, cursor string, limit int) ([]backend.Status, string, error) {
	rest := slices.Sorted(maps.Keys(names))
	from, exact := slices.BinarySearch(rest, cursor)
	if exact {
		from++
	}
	rest, next := rest[from:], ""
	if most := max(limit, 1); len(rest) > most {
		rest, next = rest[:most], rest[most-1]
	}
	all := make([]backend.Status, len(rest))
	err := backend.Each(len(rest), func(i int) (err error) {
		all[i], err = b.Inspect(ctx, rest[i])
		return err
	})
	if err != nil {
		return nil, "", err
	}
	free := func(st backend.Status) bool { return !st.Held && st.Waiters == 0 }
	return slices.DeleteFunc(all, free), next, nil
}

func (b *Backend) namesOn(ctx context.Context, n *node, prefix string) ([]string, error) {
	var names []string
	for at := uint64(0); ; {
		found, next, err := n.client.Scan(ctx, at, "lockgw:*:[swh]", scanStep).Result()
		if err != nil {
			return nil, n.outcome(err)
		}
		for _, key := range found {
			if name, ours := strings.CutPrefix(rawOf(key), b.cfg.KeyPrefix); ours && strings.HasPrefix(name, prefix) {
				names = append(names, name)
			}
		}
		if at = next; at == 0 {
			return names, nil
		}
	}
}
