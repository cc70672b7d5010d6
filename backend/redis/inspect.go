package redis

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/lockgw/lockgw/backend"
)

// Inspect implements backend.Backend.
func (b *Backend) Inspect(ctx context.Context, name string) (backend.Status, error) {
	k := keysOf(b.cfg.KeyPrefix + name)
	m := append(newMessage(8, 0), k.lock, k.state, k.queue, k.entries, k.counter, k.last, k.shares, k.ends)
	v, err := b.requests.eval(ctx, name, inspectScript, m)
	if err != nil {
		return backend.Status{Name: name}, err
	}
	a, err := asReply(v)
	if err != nil {
		return backend.Status{Name: name}, err
	}
	return backend.Status{
		Name: name, Held: a.number(0) == 1, Foreign: a.number(1) == 1, Owner: backend.Owner(a.text(2)), Count: int(a.number(3)),
		Node: a.text(4), Hold: a.fence(5), Turn: a.fence(6), Top: a.fence(7), TTL: a.millis(8), Waiters: int(a.number(9)),
		Record: a.text(10), Mode: backend.Mode(a.number(11)), Holders: int(a.number(12)),
	}, nil
}

// scanStep is how many keys Redis looks at in one step of List.
const scanStep = 1000

// List implements backend.Backend. The cursor is that of Redis' SCAN, whose
// promise it keeps: a name that is there all the time is told at least once.
func (b *Backend) List(ctx context.Context, prefix, cursor string, limit int) ([]backend.Status, string, error) {
	var at uint64
	if cursor != "" {
		n, err := strconv.ParseUint(cursor, 10, 64)
		if err != nil {
			return nil, "", fmt.Errorf("%w: cursor: use the one that the last page returned", backend.ErrInvalid)
		}
		at = n
	}
	seen := map[string]bool{}
	var out []backend.Status
	for {
		found, next, err := b.client.Scan(ctx, at, "lockgw:*:[sqh]", scanStep).Result()
		if err != nil {
			return nil, "", outcome(err)
		}
		for _, key := range found {
			name, ours := strings.CutPrefix(rawOf(key), b.cfg.KeyPrefix)
			if !ours || seen[name] || !strings.HasPrefix(name, prefix) {
				continue
			}
			seen[name] = true
			st, err := b.Inspect(ctx, name)
			if err != nil {
				return nil, "", err
			}
			if st.Held || st.Waiters > 0 {
				out = append(out, st)
			}
		}
		if next == 0 {
			return out, "", nil
		}
		if at = next; len(out) >= limit {
			return out, strconv.FormatUint(at, 10), nil
		}
	}
}
