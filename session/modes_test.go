package session_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/memory"
	"github.com/lockgw/lockgw/session"
)

var (
	shares  = session.Acquire{Shared: true}
	sharesW = session.Acquire{Shared: true, Wait: time.Minute}
	aloneW  = session.Acquire{Wait: time.Minute}
)

func TestSharedHolds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 2, session.Config{}, nil)
		r1, r2, r3, w := c.open(0), c.open(0), c.open(1), c.open(1)
		l1 := mustAcquire(t, r1, "a", shares)
		l2 := mustAcquire(t, r2, "a", shares)
		mustAcquire(t, r3, "a", shares)
		if l1.Fence() >= l2.Fence() {
			t.Errorf("fences %d and %d, want them to rise", l1.Fence(), l2.Fence())
		}
		_, err := w.Acquire(t.Context(), "a", session.Acquire{})
		wantCode(t, err, session.CodeLocked)
		writer := wait(t, w, "a", aloneW)
		late := wait(t, c.open(0), "a", sharesW)
		_, err = c.open(0).Acquire(t.Context(), "a", shares)
		wantCode(t, err, session.CodeLocked) // a writer waits
		time.Sleep(45 * time.Second)         // the watchdog renews each
		for _, s := range []*session.Session{r1, r2, r3} {
			mustRelease(t, s, "a")
		}
		within(t, 0, writer)
		synctest.Wait()
		if len(late) != 0 {
			t.Error("a reader was granted beside the writer")
		}
		mustRelease(t, w, "a")
		within(t, 0, late)
	})
}

// Of many who hold a name together, those with the lowest fences are told, the same by each node.
func TestManyHoldersAreTold(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 2, session.Config{}, nil)
		const holders = backend.MaxSeveral + 6
		var fences []backend.Fence
		for i := range holders {
			fences = append(fences, mustAcquire(t, c.open(i%2), "a", session.Acquire{Limit: holders, Wait: time.Minute}).Fence())
		}
		slices.Sort(fences)
		for node, m := range c.nodes {
			st, err := m.Inspect(t.Context(), "a")
			if err != nil {
				t.Fatal(err)
			}
			var told []backend.Fence
			for _, s := range st.Shares {
				told = append(told, s.Fence)
			}
			if st.Holders != holders || st.Fence != fences[holders-1] || !slices.Equal(told, fences[:backend.MaxSeveral]) {
				t.Errorf("node %d tells of %d holders, the newest with fence %d, and of %v; want %d, %d, %v",
					node, st.Holders, st.Fence, told, holders, fences[holders-1], fences[:backend.MaxSeveral])
			}
		}
	})
}

// Several who come at once and do not want to wait get as many permits as there are.
func TestTriesAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := &faulty{}
		c := newCluster(t, 1, session.Config{}, hooked(f))
		f.set(func(string) error { time.Sleep(10 * time.Millisecond); return nil }, nil)
		var all []<-chan *session.Lease
		for range 5 {
			all = append(all, wait(t, c.open(0), "s", session.Acquire{Limit: 3}))
		}
		for i, got := range all {
			if l := <-got; (l != nil) != (i < 3) {
				t.Errorf("try %d: granted %v", i, l != nil)
			}
		}
	})
}

func TestSemaphore(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 2, session.Config{}, nil)
		two := session.Acquire{Limit: 2, Wait: time.Minute}
		s := []*session.Session{c.open(0), c.open(1), c.open(0), c.open(1)}
		mustAcquire(t, s[0], "a", two)
		l := mustAcquire(t, s[1], "a", two)
		third, fourth := wait(t, s[2], "a", two), wait(t, s[3], "a", two)
		st, err := c.nodes[0].Inspect(t.Context(), "a")
		if err != nil || st.Mode != 2 || st.Holders != 2 || st.Waiters != 2 || st.Fence != l.Fence() {
			t.Errorf("status = %+v, %v, want 2 holders, 2 waiters and fence %d", st, err, l.Fence())
		}
		mustRelease(t, s[0], "a")
		within(t, 0, third)
		if synctest.Wait(); len(fourth) != 0 {
			t.Error("a third holder of a semaphore of two")
		}
		mustRelease(t, s[1], "a")
		within(t, 0, fourth)
	})
}

// A permit that was given back is free everywhere, whoever else has one at the same node.
func TestSparePermitIsFreeElsewhere(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 2, session.Config{}, nil)
		three := session.Acquire{Limit: 3}
		first := c.open(0)
		mustAcquire(t, first, "a", three)
		mustAcquire(t, c.open(0), "a", three)
		mustRelease(t, first, "a")
		mustAcquire(t, c.open(1), "a", three)
		mustAcquire(t, c.open(1), "a", three)
		_, err := c.open(1).Acquire(t.Context(), "a", three)
		wantCode(t, err, session.CodeLocked)
	})
}

func TestSharedReentry(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1, session.Config{}, nil)
		s, other := c.open(0), c.open(0)
		l := mustAcquire(t, s, "a", shares)
		mustAcquire(t, other, "a", shares)
		g, err := s.Acquire(t.Context(), "a", shares)
		if err != nil || g.New || g.Lease != l {
			t.Errorf("second entry = %+v, %v, want the same hold", g, err)
		}
		mustRelease(t, s, "a")
		if !held(l) {
			t.Error("one of two entries was released, and the hold is over")
		}
		_, err = s.Acquire(t.Context(), "a", aloneW)
		wantCode(t, err, session.CodeConflict)
		_, err = s.Acquire(t.Context(), "a", session.Acquire{Limit: 3})
		wantCode(t, err, session.CodeConflict)
		mustRelease(t, s, "a")
		mustRelease(t, other, "a")

		x := mustAcquire(t, s, "a", session.Acquire{})
		g, err = s.Acquire(t.Context(), "a", shares)
		if err != nil || g.Lease != x {
			t.Errorf("shared entry into an exclusive hold = %+v, %v, want that hold", g, err)
		}
		_, err = s.Acquire(t.Context(), "a", session.Acquire{Limit: 3})
		wantCode(t, err, session.CodeConflict)
		mustAcquire(t, s, "b", session.Acquire{Limit: 3})
		_, err = s.Acquire(t.Context(), "b", shares)
		wantCode(t, err, session.CodeConflict)
	})
}

func TestKindsOfOneName(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 2, session.Config{}, nil)
		mustAcquire(t, c.open(0), "lock", session.Acquire{})
		mustAcquire(t, c.open(0), "two", session.Acquire{Limit: 2})
		for i, tt := range []struct {
			name string
			a    session.Acquire
		}{
			{"lock", session.Acquire{Limit: 2}}, {"two", session.Acquire{}}, {"two", session.Acquire{Limit: 3, Wait: time.Minute}},
			{"two", shares},
		} {
			s := c.open(i % 2)
			_, err := s.Acquire(t.Context(), tt.name, tt.a)
			wantCode(t, err, session.CodeConflict)
		}
		c.wantStats(0, 2)
	})
}

// wantStats fails unless the i-th gateway has so many holds and nobody waits.
func (c *cluster) wantStats(i, holds int) {
	c.t.Helper()
	if st := c.nodes[i].Stats(); st.Holds != holds || st.Waiters != 0 {
		c.t.Errorf("stats = %+v, want %d holds and no waiters", st, holds)
	}
}

// Turns of the callers of one node stop before one of another kind who came earlier.
func TestSharedAmongTurns(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1, session.Config{}, nil)
		var mu sync.Mutex
		var order []string
		var done sync.WaitGroup
		come := func(who string, a session.Acquire) {
			s := c.open(0)
			done.Go(func() {
				if _, err := s.Acquire(context.Background(), "a", a); err != nil {
					t.Errorf("%s: %v", who, err)
					return
				}
				mu.Lock()
				order = append(order, who)
				mu.Unlock()
				time.Sleep(40 * time.Millisecond)
				_, _ = s.Release(context.Background(), "a", 1, false, "")
			})
			synctest.Wait()
		}
		for _, who := range []string{"x1", "x2", "x3", "s4", "x5", "x6", "s7"} {
			if a := aloneW; who[0] == 's' {
				come(who, sharesW)
			} else {
				come(who, a)
			}
		}
		done.Wait()
		if want := []string{"x1", "x2", "x3", "s4", "x5", "x6", "s7"}; !slices.Equal(order, want) {
			t.Errorf("served %v, want %v", order, want)
		}
	})
}

func TestCycleThroughShared(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1, session.Config{}, nil)
		s1, s2, s3 := c.open(0), c.open(0), c.open(0)
		mustAcquire(t, s1, "a", shares)
		mustAcquire(t, s2, "a", shares)
		mustAcquire(t, s3, "b", session.Acquire{})
		wait(t, s2, "b", aloneW)
		_, err := s3.Acquire(t.Context(), "a", aloneW)
		wantCode(t, err, session.CodeConflict)

		sem := session.Acquire{Limit: 2, Wait: time.Minute}
		mustAcquire(t, s1, "c", sem)
		mustAcquire(t, s2, "c", sem)
		got := wait(t, s3, "c", sem) // s1 may release, whatever s2 waits for
		mustRelease(t, s1, "c")
		within(t, 0, got)
	})
}

func TestBreakOneOfSeveral(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 2, session.Config{}, nil)
		l1 := mustAcquire(t, c.open(0), "a", shares)
		l2 := mustAcquire(t, c.open(0), "a", shares)
		l3 := mustAcquire(t, c.open(1), "a", shares)
		for _, l := range []*session.Lease{l1, l3} {
			if err := c.nodes[0].Break(t.Context(), "a", l.Fence(), "", "test"); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			wantCode(t, l.Err(), session.CodeLost)
		}
		if !held(l2) {
			t.Error("the other hold is over")
		}
		wantCode(t, c.nodes[0].Break(t.Context(), "a", l1.Fence(), "", "test"), session.CodeFenceMismatch)
	})
}

func TestSharedWithoutModes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1, session.Config{}, func(_ int, b ledger.Table) ledger.Table { return plain{b} })
		_, err := c.open(0).Acquire(t.Context(), "a", shares)
		wantCode(t, err, session.CodeUnsupported)
		mustAcquire(t, c.open(0), "a", session.Acquire{})
	})
}

func TestLongestLeaseOfTheStore(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1, session.Config{}, func(_ int, b ledger.Table) ledger.Table { return plain{b} })
		s := c.open(0)
		_, err := s.Acquire(t.Context(), "a", session.Acquire{TTL: 61 * time.Second})
		wantCode(t, err, session.CodeInvalid)
		mustAcquire(t, s, "a", session.Acquire{TTL: time.Minute})
		if _, _, err := c.nodes[0].Open(session.Options{Peer: session.NoPeer(), Keepalive: time.Hour}); err != nil {
			t.Errorf("a keepalive is no lease: %v", err)
		}
	})
}

// plain is a store of exclusive locks with leases of a minute.
type plain struct{ ledger.Table }

func (p plain) Info() backend.Info {
	i := p.Table.Info()
	i.Modes, i.MaxTTL = false, time.Minute
	return i
}

func TestRestartKeepsShared(t *testing.T) {
	for _, forgets := range []bool{false, true} {
		bubble(t, func(t *testing.T) {
			p := begin(t, memory.NewRows(), session.Config{})
			var tokens []session.Token
			var fences []backend.Fence
			sem := session.Acquire{Limit: 3}
			for range 3 {
				s, token := p.open(session.Options{Keepalive: time.Hour})
				tokens = append(tokens, token)
				fences = append(fences, mustAcquire(t, s, "a", sem).Fence())
				for i := range 10 {
					mustAcquire(t, s, fmt.Sprint("b", i), sem)
				}
			}
			if forgets { // as the embedded store does
				p.store = memory.NewRows()
			}
			p.kill()
			p = p.startOver(func(verb string) error {
				time.Sleep(time.Millisecond) // whoever may go first does
				return nil
			})
			s, _ := p.open(session.Options{})
			for i := range 10 {
				_, err := s.Acquire(t.Context(), fmt.Sprint("b", i), sem)
				wantCode(t, err, session.CodeLocked)
			}
			synctest.Wait()
			for i, token := range tokens {
				l, err := p.lookup(token).Lease("a", 1)
				if err != nil || !held(l) || l.Fence() != fences[i] {
					t.Fatalf("hold %d after a restart: %v, %v", i, l, err)
				}
			}
			_, err := s.Acquire(t.Context(), "a", sem)
			wantCode(t, err, session.CodeLocked)
			time.Sleep(time.Minute)
			mustRelease(t, p.lookup(tokens[1]), "a")
			mustAcquire(t, s, "a", sem)
		})
	}
}

// Waiters of a node are served in their order also where the node gives way to another.
func TestSharedOrderOverNodes(t *testing.T) {
	for _, tt := range []struct {
		name   string
		f      session.Fairness
		come   []string // node, and r for a reader or w for a writer
		served []int    // indexes
	}{
		{"turns", session.Fairness{}, []string{"0w", "1r", "0r"}, []int{1, 0, 2}},
		{"strict", session.Fairness{Strict: true}, []string{"1r", "1w", "0r"}, []int{0, 1, 2}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c := newCluster(t, 2, session.Config{Fairness: tt.f}, nil)
				holder := c.open(0)
				mustAcquire(t, holder, "a", session.Acquire{})
				var mu sync.Mutex
				var served []int
				var done sync.WaitGroup
				for i, who := range tt.come {
					s := c.open(int(who[0] - '0'))
					done.Go(func() {
						if _, err := s.Acquire(context.Background(), "a", session.Acquire{Wait: time.Minute, Shared: who[1] == 'r'}); err != nil {
							t.Error(err)
							return
						}
						mu.Lock()
						served = append(served, i)
						mu.Unlock()
						time.Sleep(200 * time.Millisecond)
						_, _ = s.Release(context.Background(), "a", 1, false, "")
					})
					synctest.Wait()
					time.Sleep(100 * time.Millisecond)
				}
				mustRelease(t, holder, "a")
				done.Wait()
				if !slices.Equal(served, tt.served) {
					t.Errorf("served %v of %v, want %v", served, tt.come, tt.served)
				}
			})
		})
	}
}

// room watches who is told to hold one name in which mode.
type room struct {
	t      *testing.T
	mu     sync.Mutex
	in     map[*session.Lease]backend.Mode
	served map[backend.Mode]int
}

func (r *room) enter(l *session.Lease, m backend.Mode) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !held(l) {
		return
	}
	n := 0
	for other, o := range r.in {
		switch {
		case !held(other):
			delete(r.in, other)
		case o != m || m == backend.Exclusive:
			r.t.Errorf("a hold in mode %d (fence %d) beside one in mode %d (fence %d)", m, l.Fence(), o, other.Fence())
		default:
			n++
		}
	}
	if m > 0 && n >= int(m) {
		r.t.Errorf("%d holders of a semaphore of %d", n+1, m)
	}
	r.in[l] = m
	r.served[m]++
}

func (r *room) leave(l *session.Lease) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.in, l)
}

func TestModesInBadWeather(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			bubble(t, func(t *testing.T) { modesInBadWeather(t, seed) })
		})
	}
}

func modesInBadWeather(t *testing.T, seed uint64) {
	w := &weather{
		seed: seed, rng: rand.New(rand.NewPCG(seed, 7)), lost: 0.02, answerLost: 0.02, slow: 0.02, hintLost: 0.05,
	}
	c := newCluster(t, 3, session.Config{TTL: 3 * time.Second, Timeout: time.Second},
		func(_ int, b ledger.Table) ledger.Table { return w.over(b) })
	lock := &room{t: t, in: map[*session.Lease]backend.Mode{}, served: map[backend.Mode]int{}}
	sem := &room{t: t, in: map[*session.Lease]backend.Mode{}, served: map[backend.Mode]int{}}
	var callers sync.WaitGroup
	for i := range 18 {
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		callers.Go(func() {
			for range 10 {
				s := c.open(i % 3)
				name, at, a := "lock", lock, session.Acquire{Wait: 2 * time.Minute, Shared: rng.IntN(3) > 0}
				if i%6 > 3 {
					name, at, a = "sem", sem, session.Acquire{Wait: 2 * time.Minute, Limit: 3}
				}
				mode := backend.Mode(a.Limit)
				if a.Shared {
					mode = backend.Shared
				}
				g, err := s.Acquire(context.Background(), name, a)
				if err == nil {
					at.enter(g.Lease, mode)
					time.Sleep(time.Duration(rng.IntN(200)) * time.Millisecond)
					at.leave(g.Lease)
					_, _ = s.Release(context.Background(), name, 1, false, "")
				} else if !errors.As(err, new(*session.Error)) {
					t.Errorf("acquire %s: %v", name, err)
				}
				s.End(context.Background(), "done")
			}
		})
	}
	callers.Wait()
	w.calmDown()
	for _, m := range []backend.Mode{backend.Exclusive, backend.Shared} {
		if lock.served[m] < 20 {
			t.Errorf("%d grants in mode %d, want more", lock.served[m], m)
		}
	}
	if sem.served[3] < 40 {
		t.Errorf("%d permits, want more", sem.served[3])
	}
	time.Sleep(time.Minute)
	// A node whose request to stand in the queue came late may stand there still. It passes
	// on what it is offered.
	for name, a := range map[string]session.Acquire{"lock": {}, "sem": {Limit: 3}} {
		a.Wait = time.Minute
		mustAcquire(t, c.open(0), name, a)
	}
}
