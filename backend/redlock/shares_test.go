package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/redlock"
	"github.com/lockgw/lockgw/session"
)

// Three nodes with two permits each have enough for three majorities.
func TestPermitsAreNotCounted(t *testing.T) {
	t.Parallel()
	servers := start(t, 3, durable...)
	var inside, most atomic.Int64
	var fences sync.Map
	var wg sync.WaitGroup
	for i := range 3 {
		m := gateway(t, urlOf(servers), fmt.Sprint("n", i), time.Minute)
		for range 4 {
			s := client(t, m)
			wg.Go(func() {
				for range 5 {
					g, err := s.Acquire(t.Context(), "x", session.Acquire{Limit: 2, Wait: 2 * limit})
					if err != nil {
						t.Error(err)
						return
					}
					if _, twice := fences.LoadOrStore(g.Lease.Fence(), true); twice {
						t.Errorf("fence %d twice", g.Lease.Fence())
					}
					n := inside.Add(1)
					most.Store(max(most.Load(), n))
					time.Sleep(5 * time.Millisecond)
					inside.Add(-1)
					if _, err := s.Release(t.Context(), "x", 1, false, ""); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Go(func() {
		time.Sleep(100 * time.Millisecond)
		servers[0].Kill()
		time.Sleep(100 * time.Millisecond)
		servers[0].Restart()
	})
	wg.Wait()
	if most.Load() != 2 {
		t.Errorf("%d had one of two permits at once", most.Load())
	}
}

// Of a semaphore of 2 three nodes have six permits, enough for three who reach two
// nodes each.
func TestPermitsHaveNumbers(t *testing.T) {
	t.Parallel()
	servers := start(t, 3, durable...)
	ready(t, open(t, urlOf(servers), "", backend.Node{ID: "first", Incarnation: 1})) // finds that all of them are new
	contender := func(i int) *redlock.Backend {
		addrs := make([]string, len(servers))
		for j, s := range servers {
			addrs[j] = s.Addr
		}
		addrs[i] = "127.0.0.1:1" // where nobody is
		return ready(t, open(t, "redlock://"+strings.Join(addrs, ","), "", backend.Node{ID: fmt.Sprint("n", i), Incarnation: 1}))
	}
	share(t, contender(0), "1", 2)
	share(t, contender(1), "1", 2)
	r := request(1)
	r.Slot, r.Mode, r.Turns = "1", 2, 1
	if a, err := contender(2).Acquire(t.Context(), r); !errors.Is(err, backend.ErrHeld) {
		t.Errorf("acquire = %+v, %v, want held: two have a permit", a, err)
	}
}

// Shared holds that overlap for ever do not keep one who wants the name alone waiting.
func TestReadersLetAWriterIn(t *testing.T) {
	t.Parallel()
	servers := start(t, 3, durable...)
	writer := client(t, gateway(t, urlOf(servers), "w", time.Minute))
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	var alone, grants atomic.Int64
	for i := range 2 {
		m := gateway(t, urlOf(servers), fmt.Sprint("r", i), time.Minute)
		for j := range 2 {
			s := client(t, m)
			wg.Go(func() {
				time.Sleep(time.Duration(2*i+j) * 50 * time.Millisecond) // so that they overlap
				for ctx.Err() == nil {
					if _, err := s.Acquire(ctx, "x", session.Acquire{Shared: true, Wait: time.Minute}); err != nil {
						return
					}
					grants.Add(1)
					if alone.Load() != 0 {
						t.Error("granted beside an exclusive hold")
					}
					time.Sleep(200 * time.Millisecond)
					_, _ = s.Release(t.Context(), "x", 1, false, "")
				}
			})
		}
	}
	eventually(t, "readers", func() error {
		if grants.Load() < 8 {
			return fmt.Errorf("%d grants", grants.Load())
		}
		return nil
	})
	if _, err := writer.Acquire(ctx, "x", session.Acquire{Wait: 2 * limit}); err != nil {
		t.Fatalf("the writer: %v", err)
	}
	alone.Store(1)
	time.Sleep(100 * time.Millisecond)
	alone.Store(0)
	if _, err := writer.Release(ctx, "x", 1, false, ""); err != nil {
		t.Fatal(err)
	}
	before := grants.Load()
	eventually(t, "readers go on", func() error {
		if grants.Load() < before+4 {
			return fmt.Errorf("%d more grants", grants.Load()-before)
		}
		return nil
	})
}

func share(t *testing.T, b interface {
	Acquire(context.Context, backend.Request) (backend.Answer, error)
}, slot string, m backend.Mode) (backend.Request, backend.Answer) {
	t.Helper()
	r := request(1)
	r.Slot, r.Mode, r.Turns, r.Owner = slot, m, 1, backend.Owner("o:"+slot)
	a, err := b.Acquire(t.Context(), r)
	if err != nil || !a.Granted {
		t.Fatalf("acquire = %+v, %v, want granted", a, err)
	}
	return r, a
}

// A node that has lost its data is told again of each of several holds, and counts.
func TestSharesAreSetAgain(t *testing.T) {
	for _, m := range []backend.Mode{backend.Shared, 2} {
		t.Run(m.String(), func(t *testing.T) {
			t.Parallel()
			servers := start(t, 3, durable...)
			b := ready(t, open(t, urlOf(servers), "", backend.Node{ID: "a", Incarnation: 1}))
			_, a1 := share(t, b, "1", m)
			_, a2 := share(t, b, "2", m)
			renewals := []backend.Renewal{
				{Name: "x", Slot: "1", Mode: m, Hold: a1.Hold, TTL: ttl}, {Name: "x", Slot: "2", Mode: m, Hold: a2.Hold, TTL: ttl},
			}
			if err := servers[0].Client().FlushAll(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
			eventually(t, "set again", func() error {
				if errs, err := b.Renew(t.Context(), renewals); err != nil || errors.Join(errs...) != nil {
					t.Fatal(errs, err)
				}
				if n := servers[0].Client().HLen(t.Context(), "x").Val(); n != 3 {
					return fmt.Errorf("%d fields in the lock, want two owners and the mode", n)
				}
				return nil
			})
			servers[1].Kill()
			if errs, err := b.Renew(t.Context(), renewals); err != nil || errors.Join(errs...) != nil {
				t.Errorf("renew without another node: %v, %v", errs, err)
			}
			if st, err := b.Inspect(t.Context(), "x"); err != nil || st.Holders != 2 || st.Mode != m || st.Hold != a2.Hold {
				t.Errorf("status = %+v, %v, want two holders", st, err)
			}
			r := request(2)
			r.Slot, r.Mode, r.Turns = "3", 2, 1
			if a, err := b.Acquire(t.Context(), r); m == 2 && !errors.Is(err, backend.ErrHeld) {
				t.Errorf("a third permit of two: %+v, %v", a, err)
			}
		})
	}
}

// Nobody who waits for all of several holds to end is told of each.
func TestSharesEndQuietly(t *testing.T) {
	t.Parallel()
	servers := start(t, 3, durable...)
	a, w := contend(t, servers, "a"), contend(t, servers, "w")
	r1, a1 := share(t, a, "1", backend.Shared)
	r2, a2 := share(t, a, "2", backend.Shared)
	wait := waits(t, w)
	end := func(r backend.Request, hold backend.Fence) {
		t.Helper()
		r.Seq, r.Hold, r.Turn = 2, hold, hold
		if _, err := a.Release(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	end(r2, a2.Hold)
	time.Sleep(100 * time.Millisecond)
	if n := len(w.hints); n != 0 {
		t.Errorf("%d hints while the name is shared, first %+v", n, <-w.hints)
	}
	end(r1, a1.Hold)
	w.hears(t, backend.HintFree)
	if got, err := w.Acquire(t.Context(), wait); err != nil || !got.Granted || got.Hold <= a2.Hold {
		t.Errorf("acquire = %+v, %v, want a larger fence", got, err)
	}
}

// Who is refused costs a node the same however many have the name.
func TestRefusalIsCheap(t *testing.T) {
	t.Parallel()
	servers := start(t, 3, durable...)
	a, b := contend(t, servers, "a"), contend(t, servers, "b")
	const many = 60
	var renewals []backend.Renewal
	for i := range many {
		_, got := share(t, a.Backend, fmt.Sprint(i), many)
		renewals = append(renewals, backend.Renewal{Name: "x", Slot: fmt.Sprint(i), Mode: many, Hold: got.Hold, TTL: ttl})
	}
	eventually(t, "all have all", func() error {
		_, _ = a.Renew(t.Context(), renewals)
		for _, s := range servers {
			if n := s.Client().HLen(t.Context(), "x").Val(); n != many+1 {
				return fmt.Errorf("%d fields in the lock, want %d owners and the mode", n, many)
			}
		}
		return nil
	})
	calls := func() int64 {
		s := servers[0].CommandStats(t)
		return s["hget"] + s["hexists"]
	}
	before := calls()
	for range 2 { // a permit at random
		r := request(1)
		r.Mode, r.Turns = many, 1
		if _, err := b.Acquire(t.Context(), r); !errors.Is(err, backend.ErrHeld) {
			t.Fatalf("one more: %v, want %v", err, backend.ErrHeld)
		}
	}
	if n := calls() - before; n > many {
		t.Errorf("a node has looked at %d things to refuse 2 requests", n)
	}
}
