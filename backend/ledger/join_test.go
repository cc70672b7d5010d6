package ledger

import (
	"context"
	"errors"
	"testing"
	"time"
)

// Who joins by swaps tries again until nobody else has written between, and is there once.
func TestJoinBySwap(t *testing.T) {
	row := (&scenario{t: t}).want("a", x, 1).row
	look := func(context.Context, string) (Reply, error) { return row.Reply(0), nil }
	swaps, fails := 0, error(nil)
	swap := func(_ context.Context, s Swap) (Reply, error) {
		if swaps++; swaps == 1 { // another was first
			row.Version = "other"
		}
		written := fails == nil && row.Swap(s, s.Base+"n", 0, 0)
		r := row.Reply(0)
		r.Written = written
		return r, fails
	}
	join := func(node string) (Reply, error) {
		return JoinBySwap(t.Context(), "n", Entry{Node: node, Want: 1}, look, swap)
	}
	r, err := join("b")
	if err != nil || r.Written || swaps != 2 || show(&r.Record) != "a | b" || show(&row.Record) != "a | b" || r.Version != row.Version {
		t.Errorf("joined by %d swaps: %+v, %v; the record is %q", swaps, r, err, show(&row.Record))
	}
	if r, err = join("b"); err != nil || swaps != 2 || show(&r.Record) != "a | b" || r.Record.Holds[0].End != 30*time.Second {
		t.Errorf("joined again: %+v, %v, %d swaps", r, err, swaps)
	}
	fails = errors.New("no answer")
	if _, err = join("c"); !errors.Is(err, fails) || swaps != 3 {
		t.Errorf("without an answer: %v after %d swaps", err, swaps)
	}
}
