package redis

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/redis/requests"
)

// seenOf is ledger.Reply.Seen of a lock: what stranger.lua says of it, behind the ms that
// it has left.
func seenOf(stranger string, left int64) string {
	if stranger == "" {
		return ""
	}
	return strconv.FormatInt(left, 10) + " " + stranger
}

// evict runs swap.lua where the lock of a program outside lockgw is to go with it.
func (t *Table) evict(ctx context.Context, raw, seen string, m *requests.Message) (any, error) {
	left, stranger, ok := strings.Cut(seen, " ")
	if !ok {
		return nil, fmt.Errorf("%w: what has the key %s is no lock as far as can be told: look at it, and delete it by the store's own tools", backend.ErrConflict, raw)
	}
	m.Add(stranger)
	m.Add(left)
	return t.requests.Eval(ctx, raw, t.swaps.evict, m)
}
