package listing_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/memory"
	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/session/listing"
)

// scanned is a store that lists as Redis does: in no order, more than it was asked for
// or less, and some names twice.
type scanned struct {
	ledger.Table
	lists atomic.Int64
	each  time.Duration // how long a part of the list takes
	stuck atomic.Bool   // there is always more
	mute  atomic.Value  // a string: names that contain it cannot be asked about
}

func (s *scanned) Look(ctx context.Context, name string) (ledger.Reply, error) {
	if mute, _ := s.mute.Load().(string); mute != "" && strings.Contains(name, mute) {
		return ledger.Reply{}, fmt.Errorf("%w: a fault of the test", backend.ErrUnavailable)
	}
	return s.Table.Look(ctx, name)
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

// gateways are two, over one store, with their lists.
type gateways struct {
	t     *testing.T
	nodes []*session.Manager
	lists []*listing.Lists
}

// locked is two gateways, with so many locks held on both, and the store of the second one.
func locked(t *testing.T, names int) (*gateways, *scanned) {
	t.Helper()
	began := time.Now().Add(-time.Hour)
	rows := memory.NewRows()
	rows.Clock, rows.Keep = func() time.Duration { return time.Since(began) }, true
	g := &gateways{t: t}
	var store *scanned
	for i := range 2 {
		store = &scanned{Table: memory.OpenTable(rows, fmt.Sprintf("n%d", i))}
		m := session.New(store, session.Config{Node: fmt.Sprintf("node-%d", i), Clock: rows.Clock})
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			if err := m.Close(ctx); err != nil {
				t.Errorf("close: %v", err)
			}
		})
		g.nodes, g.lists = append(g.nodes, m), append(g.lists, listing.New(m))
	}
	sessions := []*session.Session{g.open(0), g.open(1)}
	for i := range names {
		mustAcquire(t, sessions[i%2], fmt.Sprintf("jobs/%03d", i), session.Acquire{})
	}
	return g, store
}

// open makes a session on the i-th gateway.
func (g *gateways) open(i int) *session.Session {
	g.t.Helper()
	s, _, err := g.nodes[i].Open(session.Options{Peer: session.NoPeer()})
	if err != nil {
		g.t.Fatalf("open: %v", err)
	}
	return s
}

func mustAcquire(t *testing.T, s *session.Session, name string, a session.Acquire) {
	t.Helper()
	if _, err := s.Acquire(t.Context(), name, a); err != nil {
		t.Fatalf("acquire %s: %v", name, err)
	}
}

// wait has n callers wait for name on a gateway, until the test ends.
func (g *gateways) wait(node, n int, name string) {
	for range n {
		s := g.open(node)
		go func() { _, _ = s.Acquire(g.t.Context(), name, session.Acquire{Wait: 5 * time.Minute}) }()
	}
	time.Sleep(time.Second)
}

// pagesOf are the names of all pages.
func pagesOf(t *testing.T, l *listing.Lists, q listing.Query) (names []string, pages int) {
	t.Helper()
	for {
		page, err := l.List(t.Context(), q)
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
	synctest.Test(t, func(t *testing.T) {
		c, _ := locked(t, 250)
		c.wait(1, 3, "jobs/000")
		l := c.lists[1]
		names, pages := pagesOf(t, l, listing.Query{Limit: 10})
		if !slices.IsSorted(names) || len(slices.Compact(names)) != 250 || pages != 25 {
			t.Errorf("%d names on %d pages, want 250, each once, in order, on 25", len(names), pages)
		}
		page, err := l.List(t.Context(), listing.Query{Limit: 10})
		if want := (listing.Counts{Locks: 250, Held: 250, Waiting: 3, AtLeast: true}); err != nil || page.Counts != want {
			t.Errorf("counts = %+v, %v, want %+v", page.Counts, err, want)
		}
		page, err = l.List(t.Context(), listing.Query{Contains: "S/24", Limit: 3})
		if want := (listing.Counts{Locks: 10, Held: 10, AtLeast: true}); err != nil || page.Counts != want || len(page.Items) != 3 || page.Items[0].Name != "jobs/240" {
			t.Errorf("page = %+v, %v, want the first of ten", page, err)
		}
		page, err = l.List(t.Context(), listing.Query{State: listing.StateWaited})
		if err != nil || len(page.Items) != 1 || page.Items[0].Waiters != 3 {
			t.Errorf("waited for = %+v, %v, want one lock", page, err)
		}
		odd := listing.Query{Sees: func(name string) bool { return strings.HasSuffix(name, "1") }, Limit: 7}
		if names, _ := pagesOf(t, l, odd); len(names) != 25 {
			t.Errorf("who may see 25 names sees %d", len(names))
		}
	})
}

// A name about which the store does not answer is left out, and said to be. Where it answers about
// none, there is no list.
func TestListWithoutAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, store := locked(t, 20)
		l := c.lists[1]
		store.mute.Store("jobs/01")
		page, err := l.List(t.Context(), listing.Query{Limit: 15})
		if err != nil || len(page.Items) != 10 || page.Items[9].Name != "jobs/009" || !strings.Contains(page.Incomplete, "of 15 names on this page 5 are left out") {
			t.Errorf("page = %d items, incomplete %q, %v, want 10 and why 5 are missing", len(page.Items), page.Incomplete, err)
		}
		store.mute.Store("jobs")
		if page, err := l.List(t.Context(), listing.Query{}); err == nil {
			t.Errorf("page = %+v, want an error: the store answers about none of them", page)
		}
	})
}

func TestListOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := locked(t, 0)
		first, second := c.open(0), c.open(1)
		mustAcquire(t, first, "b", session.Acquire{TTL: 50 * time.Second})
		time.Sleep(time.Second)
		mustAcquire(t, second, "a", session.Acquire{TTL: 40 * time.Second})
		time.Sleep(time.Second)
		mustAcquire(t, first, "c", session.Acquire{TTL: time.Minute})
		c.wait(0, 2, "a")
		c.wait(1, 1, "c")
		for _, tt := range []struct {
			sort        listing.Order
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
				names, _ := pagesOf(t, c.lists[0], listing.Query{Sort: tt.sort, Order: tt.order, Limit: limit})
				if got := strings.Join(names, " "); got != tt.want {
					t.Errorf("by %s %s, %d a page: %q, want %q", tt.sort, tt.order, limit, got, tt.want)
				}
			}
		}
	})
}

// What is free has nothing to be sorted by, and comes last in both directions.
func TestListOrderUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := locked(t, 2)
		l := c.lists[0]
		s := c.open(0)
		mustAcquire(t, s, "a-free", session.Acquire{})
		c.wait(1, 1, "a-free")
		delayed := listing.Query{Sort: listing.ByHeld, State: session.StateFree}
		if page, err := l.List(t.Context(), delayed); err != nil || len(page.Items) != 0 {
			t.Errorf("free = %+v, %v, want none", page.Items, err)
		}
	})
}

func TestListRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := locked(t, 1)
		for _, q := range []listing.Query{
			{Sort: "size"}, {Order: "up"}, {State: "lost"}, {Limit: -1}, {Cursor: "x"}, {Cursor: "AAAA"}, {Cursor: "e30"},
		} {
			_, err := c.lists[0].List(t.Context(), q)
			if session.CodeOf(err) != session.CodeInvalid {
				t.Errorf("%+v: err = %v, want code %s", q, err, session.CodeInvalid)
			}
		}
	})
}

// However many ask, the store is read by two at a time, and nobody gets what was read
// before it asked.
func TestListShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, store := locked(t, 3)
		l := c.lists[1]
		store.each = 100 * time.Millisecond
		var wg sync.WaitGroup
		list := func(ctx context.Context, least int, answered bool) {
			wg.Go(func() {
				page, err := l.List(ctx, listing.Query{})
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
	synctest.Test(t, func(t *testing.T) {
		c, store := locked(t, 3)
		store.each = time.Second
		store.stuck.Store(true)
		page, err := c.lists[1].List(t.Context(), listing.Query{})
		if err != nil || !page.Counts.AtLeast || page.Counts.Locks != 3 || !strings.Contains(page.Incomplete, "has more") {
			t.Errorf("page = %+v, %v, want three locks at least, and why", page, err)
		}
	})
}
