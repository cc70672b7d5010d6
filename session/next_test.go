package session_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/session"
)

// scanned is a store that lists as Redis does: in no order, more than it was asked for
// or less, and some names twice.
type scanned struct {
	ledger.Table
	lists atomic.Int64
	each  time.Duration // how long a part of the list takes
	stuck atomic.Bool   // there is always more
}

func (s *scanned) List(ctx context.Context, prefix, cursor string, _ int) ([]ledger.Named, string, error) {
	s.lists.Add(1)
	select {
	case <-time.After(s.each):
	case <-ctx.Done():
		return nil, "", backend.ErrUnavailable
	}
	all, _, err := s.Table.List(ctx, prefix, "", 1<<20)
	if err != nil {
		return nil, "", err
	}
	switch {
	case s.stuck.Load():
		return all, "more", nil
	case cursor == "":
		rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		return all[:len(all)/2], "half", nil
	case cursor == "half":
		return nil, "none", nil
	default:
		return all, "", nil
	}
}

// listing is two gateways with locks on both.
func listing(t *testing.T, names int) (*cluster, *scanned) {
	t.Helper()
	var store *scanned
	c := newCluster(t, 2, session.Config{}, func(_ int, b ledger.Table) ledger.Table {
		store = &scanned{Table: b}
		return store
	})
	sessions := []*session.Session{c.open(0), c.open(1)}
	for i := range names {
		mustAcquire(t, sessions[i%2], fmt.Sprintf("jobs/%03d", i), session.Acquire{})
	}
	return c, store
}

// wait has n callers wait for name on a gateway, until the test ends.
func (c *cluster) wait(node, n int, name string) {
	for range n {
		s := c.open(node)
		go func() { _, _ = s.Acquire(c.t.Context(), name, session.Acquire{Wait: 5 * time.Minute}) }()
	}
	time.Sleep(time.Second)
}

// pagesOf are the names of all pages.
func pagesOf(t *testing.T, m *session.Manager, q session.ListQuery) (names []string, pages int) {
	t.Helper()
	for {
		page, err := m.List(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Items) > q.Limit {
			t.Errorf("a page has %d names, want at most %d", len(page.Items), q.Limit)
		}
		for _, st := range page.Items {
			names = append(names, st.Name)
		}
		if pages++; page.Next == "" {
			return names, pages
		}
		q.Cursor = page.Next
	}
}

// A page has at most as many names as were asked for, no name is on two pages, and the
// counts are of all of them.
func TestListPages(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, _ := listing(t, 250)
		c.wait(1, 3, "jobs/000")
		m := c.nodes[1]
		names, pages := pagesOf(t, m, session.ListQuery{Limit: 10})
		if !slices.IsSorted(names) || len(slices.Compact(names)) != 250 || pages != 25 {
			t.Errorf("%d names on %d pages, want 250, each once, in order, on 25", len(names), pages)
		}
		page, err := m.List(t.Context(), session.ListQuery{Limit: 10})
		if want := (session.Counts{Locks: 250, Held: 250, Waiting: 3}); err != nil || page.Counts != want {
			t.Errorf("counts = %+v, %v, want %+v", page.Counts, err, want)
		}
		page, err = m.List(t.Context(), session.ListQuery{Contains: "S/24", Limit: 3})
		if want := (session.Counts{Locks: 10, Held: 10}); err != nil || page.Counts != want || len(page.Items) != 3 || page.Items[0].Name != "jobs/240" {
			t.Errorf("page = %+v, %v, want the first of ten", page, err)
		}
		page, err = m.List(t.Context(), session.ListQuery{State: session.StateWaited})
		if err != nil || len(page.Items) != 1 || page.Items[0].Waiters != 3 {
			t.Errorf("waited for = %+v, %v, want one lock", page, err)
		}
		odd := session.ListQuery{Sees: func(name string) bool { return strings.HasSuffix(name, "1") }, Limit: 7}
		if names, _ := pagesOf(t, m, odd); len(names) != 25 {
			t.Errorf("who may see 25 names sees %d", len(names))
		}
	})
}

func TestListOrder(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, _ := listing(t, 0)
		first, second := c.open(0), c.open(1)
		mustAcquire(t, first, "b", session.Acquire{TTL: 50 * time.Second})
		time.Sleep(time.Second)
		mustAcquire(t, second, "a", session.Acquire{TTL: 40 * time.Second})
		time.Sleep(time.Second)
		mustAcquire(t, first, "c", session.Acquire{TTL: time.Minute})
		c.wait(0, 2, "a")
		c.wait(1, 1, "c")
		for _, tt := range []struct {
			sort        session.Order
			order, want string
		}{
			{"", "", "a b c"}, {"name", "asc", "a b c"}, {"name", "desc", "c b a"},
			{"holder", "", "b c a"}, {"holder", "desc", "a b c"},
			{"held", "", "b a c"}, {"held", "asc", "c a b"},
			{"lease", "", "c b a"}, {"lease", "asc", "a b c"},
			{"waiters", "", "a c b"}, {"waiters", "asc", "b c a"},
			{"fence", "desc", "c a b"}, {"fence", "asc", "b a c"},
		} {
			for _, limit := range []int{1, 10} {
				names, _ := pagesOf(t, c.nodes[0], session.ListQuery{Sort: tt.sort, Order: tt.order, Limit: limit})
				if got := strings.Join(names, " "); got != tt.want {
					t.Errorf("by %s %s, %d a page: %q, want %q", tt.sort, tt.order, limit, got, tt.want)
				}
			}
		}
	})
}

// What is free has nothing to be sorted by, and comes last in both directions.
func TestListOrderUnknown(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, _ := listing(t, 2)
		m := c.nodes[0]
		s := c.open(0)
		mustAcquire(t, s, "a-free", session.Acquire{})
		c.wait(1, 1, "a-free")
		delayed := session.ListQuery{Sort: session.ByHeld, State: session.StateFree}
		if page, err := m.List(t.Context(), delayed); err != nil || len(page.Items) != 0 {
			t.Errorf("free = %+v, %v, want none", page.Items, err)
		}
	})
}

func TestListRefuses(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, _ := listing(t, 1)
		for _, q := range []session.ListQuery{
			{Sort: "size"}, {Order: "up"}, {State: "lost"}, {Limit: -1}, {Cursor: "x"}, {Cursor: "AAAA"}, {Cursor: "e30"},
		} {
			_, err := c.nodes[0].List(t.Context(), q)
			wantCode(t, err, session.CodeInvalid)
		}
	})
}

// However many ask, the store is read by two at a time, and nobody gets what was read
// before it asked.
func TestListShares(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, store := listing(t, 3)
		m := c.nodes[1]
		store.each = 100 * time.Millisecond
		var wg sync.WaitGroup
		list := func(ctx context.Context, least int, answered bool) {
			wg.Go(func() {
				page, err := m.List(ctx, session.ListQuery{})
				if (err == nil) != answered || answered && page.Counts.Locks < least {
					t.Errorf("%d locks, %v, want at least %d, answered: %v", page.Counts.Locks, err, least, answered)
				}
			})
			time.Sleep(time.Millisecond) // the next one comes later
		}
		gone, leave := context.WithCancel(t.Context())
		list(gone, 0, false) // is being read when it hangs up,
		list(t.Context(), 3, true)
		list(gone, 0, false) // waits for its turn, and
		for range 50 {
			list(t.Context(), 3, true) // takes nobody else's answer along
		}
		leave()
		mustAcquire(t, c.open(1), "late", session.Acquire{})
		list(t.Context(), 4, true)
		wg.Wait()
		if n := store.lists.Load(); n > 4*3 {
			t.Errorf("the store was asked %d times for a part of the list, want that those who wait share", n)
		}
	})
}

// A list that is too long ends, and says so.
func TestListAtLeast(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, store := listing(t, 3)
		store.each = time.Second
		store.stuck.Store(true)
		page, err := c.nodes[1].List(t.Context(), session.ListQuery{})
		if err != nil || !page.Counts.AtLeast || page.Counts.Locks != 3 || !strings.Contains(page.Incomplete, "has more") {
			t.Errorf("page = %+v, %v, want three locks at least, and why", page, err)
		}
	})
}

// Who is next is the same on every node: the first in the queue of the store.
func TestNext(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 3, session.Config{}, nil)
		mustAcquire(t, c.open(0), "x", session.Acquire{})
		next := func(node int) string {
			st, err := c.nodes[node].Inspect(t.Context(), "x")
			switch {
			case err != nil:
				t.Fatal(err)
			case st.Next == nil:
				return "nobody"
			case st.Next.Owner == "":
				return "elsewhere"
			}
			return st.Next.Node
		}
		want := func(when string, want ...string) {
			t.Helper()
			for node, w := range want {
				if got := next(node); got != w {
					t.Errorf("%s: to node %d the next is %s, want %s", when, node, got, w)
				}
			}
		}
		want("held", "nobody", "nobody", "nobody")
		c.wait(0, 1, "x")
		if got := next(0); got != "node-0" {
			t.Errorf("with a caller of its own alone the next is %s", got)
		}
		c.wait(1, 2, "x")
		c.wait(2, 1, "x")
		want("all wait", "node-1", "node-1", "node-1")
	})
}
