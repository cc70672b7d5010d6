package redis_test

import (
	"context"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/redis"
	"github.com/lockgw/lockgw/backend/redis/redistest"
	"github.com/lockgw/lockgw/session"
)

// swapping has before run at the first Swap after it was set.
type swapping struct {
	ledger.Table
	before func()
}

func (s *swapping) Swap(ctx context.Context, sw ledger.Swap) (ledger.Reply, error) {
	if f := s.before; f != nil {
		s.before = nil
		f()
	}
	return s.Table.Swap(ctx, sw)
}

// Two holders outside lockgw have one fence, that of the name. The lock of the second one stays
// where the first was to be broken, also if it changes hands just then.
func TestBreakSparesTheNextForeignHolder(t *testing.T) {
	const first, second = "7c8a1f3e-1111-4222-8333-444455556666:52", "7c8a1f3e-1111-4222-8333-444455556666:53"
	s := redistest.Start(t)
	table := &swapping{Table: openTable(t, s.URL(), "n0", redis.GuardQuarantine)}
	m := session.New(table, session.Config{Node: "node-0"})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := m.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	within(t, "the gateway is ready", func() bool { return m.Ping(t.Context()) == nil })
	hold := func(owner string) {
		s.Client().Del(t.Context(), "x")
		s.Client().HSet(t.Context(), "x", owner, 1)
		s.Client().PExpire(t.Context(), "x", time.Minute)
	}
	hold(first)
	st, err := m.Inspect(t.Context(), "x")
	if err != nil || st.Holder == nil || st.Holder.Owner != first {
		t.Fatalf("status = %+v, %v, want held by %s", st, err, first)
	}
	table.before = func() { hold(second) }
	if err := m.Break(t.Context(), "x", st.Fence, first, "test"); session.CodeOf(err) != session.CodeFenceMismatch {
		t.Errorf("break of a lock that has changed hands: %v, want a mismatch", err)
	}
	if n := s.Client().HExists(t.Context(), "x", second).Val(); !n {
		t.Error("the lock of the next holder is gone")
	}
}
