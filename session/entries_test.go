package session_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgw/lockgw/backend/memory"
	"github.com/lockgw/lockgw/session"
)

// A re-entry counts only when the store knows of it.
func TestReentryWithoutStore(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := &faulty{}
		c := newCluster(t, 1, session.Config{}, hooked(f))
		s := c.open(0)
		l := mustAcquire(t, s, "x", session.Acquire{})
		f.set(always(errLost), nil)
		_, err := s.Acquire(t.Context(), "x", session.Acquire{})
		wantCode(t, err, session.CodeUnavailable)
		f.set(nil, nil)
		if v, err := l.View(); err != nil || v.Count != 1 {
			t.Errorf("count = %d, %v, want 1", v.Count, err)
		}
		mustAcquire(t, s, "x", session.Acquire{})
		if got := c.entries("x"); got != 2 {
			t.Errorf("count in the store = %d, want 2", got)
		}
	})
}

func TestReentriesAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1, session.Config{Limits: session.Limits{Entries: 50}}, nil)
		s := c.open(0)
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() { mustAcquire(t, s, "x", session.Acquire{Wait: time.Second}) })
		}
		wg.Wait()
		_, err := s.Acquire(t.Context(), "x", session.Acquire{})
		wantCode(t, err, session.CodeConflict)
		if got := c.entries("x"); got != 50 {
			t.Errorf("count in the store = %d, want 50", got)
		}
		for i := range 50 {
			r, err := s.Release(t.Context(), "x", 1, false, "")
			if err != nil || r.Count != 49-i {
				t.Fatalf("release = %+v, %v, want %d left", r, err, 49-i)
			}
		}
		mustAcquire(t, s, "x", session.Acquire{})
		mustAcquire(t, s, "x", session.Acquire{})
		if r, err := s.Release(t.Context(), "x", 1, true, ""); err != nil || r.Count != 0 {
			t.Errorf("release all = %+v, %v", r, err)
		}
		mustAcquire(t, c.open(0), "x", session.Acquire{})
	})
}

// A process that allows fewer entries takes up a hold that has more: it is not entered again, and
// each release gives one back.
func TestReleaseWithFewerEntriesAllowed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := begin(t, memory.NewRows(), session.Config{})
		s, token := p.open(patient)
		for range 4 {
			mustAcquire(t, s, "x", session.Acquire{})
		}
		p.cfg.Limits.Entries = 2
		p = p.restart()
		s = p.lookup(token)
		_, err := s.Acquire(t.Context(), "x", session.Acquire{})
		wantCode(t, err, session.CodeConflict)
		for left := 3; left > 0; left-- {
			r, err := s.Release(t.Context(), "x", 1, false, "")
			if views, _ := s.Views(); err != nil || r.Count != left || views[0].Count != left {
				t.Fatalf("release = %+v, %v, and then %+v; want %d left", r, err, views, left)
			}
		}
		mustRelease(t, s, "x")
		if views, err := s.Views(); err != nil || len(views) != 0 {
			t.Errorf("after the last release: %+v, %v", views, err)
		}
	})
}

// Two entries are given up at once by a client that has gone.
func TestLeaveAfterHangUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := &faulty{}
		c := newCluster(t, 1, session.Config{}, hooked(f))
		s := c.open(0)
		for range 3 {
			mustAcquire(t, s, "x", session.Acquire{})
		}
		f.set(func(string) error { time.Sleep(10 * time.Millisecond); return nil }, nil)
		ctx, hangUp := context.WithCancel(t.Context())
		hangUp()
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				if _, err := s.Release(ctx, "x", 1, false, ""); err != nil {
					t.Errorf("release: %v", err)
				}
			})
		}
		wg.Wait()
		if got := c.entries("x"); got != 1 {
			t.Errorf("count in the store = %d, want 1", got)
		}
	})
}

// What a re-entry asks of the lease can only make it longer.
func TestReentryOfAFixedLease(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1, session.Config{}, nil)
		s := c.open(0)
		l := mustAcquire(t, s, "x", session.Acquire{TTL: 2 * time.Second, Fixed: true})
		mustAcquire(t, s, "x", session.Acquire{TTL: 10 * time.Second, Fixed: true})
		time.Sleep(9 * time.Second)
		if !held(l) {
			t.Fatalf("lost: %v", l.Err())
		}
		mustAcquire(t, s, "x", session.Acquire{})
		time.Sleep(time.Minute)
		synctest.Wait()
		if !held(l) {
			t.Errorf("lost under the watchdog: %v", l.Err())
		}
	})
}

// Two acquires of one owner at once: the second enters again behind the first.
func TestSameOwnerWaitsTwice(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1, session.Config{}, nil)
		a, s := c.open(0), c.open(0)
		mustAcquire(t, a, "x", session.Acquire{})
		first := wait(t, s, "x", session.Acquire{Wait: time.Minute})
		second := wait(t, s, "x", session.Acquire{Wait: time.Minute})
		_, err := s.Acquire(t.Context(), "x", session.Acquire{})
		wantCode(t, err, session.CodeLocked)
		_, err = s.Acquire(t.Context(), "x", session.Acquire{Wait: time.Second})
		wantCode(t, err, session.CodeWaitTimeout)
		mustRelease(t, a, "x")
		if l := within(t, 0, first); l != within(t, 0, second) {
			t.Error("two leases of one owner")
		} else if v, _ := l.View(); v.Count != 2 {
			t.Errorf("count = %d, want 2", v.Count)
		}
	})
}

func TestRepeatedRequests(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1, session.Config{}, nil)
		s := c.open(0)
		a := session.Acquire{Key: "k1"}
		l := mustAcquire(t, s, "x", a)
		if again := mustAcquire(t, s, "x", a); again != l {
			t.Error("a repeat made another lease")
		}
		if v, _ := l.View(); v.Count != 1 {
			t.Errorf("count = %d after a repeat, want 1", v.Count)
		}
		_, err := s.Acquire(t.Context(), "y", a)
		wantCode(t, err, session.CodeConflict)
		_, err = s.Release(t.Context(), "x", 1, false, "k1")
		wantCode(t, err, session.CodeConflict)
		mustAcquire(t, s, "x", session.Acquire{Key: "k2"})
		for range 3 {
			if r, err := s.Release(t.Context(), "x", 1, false, "k3"); err != nil || r.Count != 1 {
				t.Errorf("release = %+v, %v, want one left, each time", r, err)
			}
		}
		for range 3 {
			if r, err := s.Release(t.Context(), "x", 1, false, "k4"); err != nil || r.Count != 0 {
				t.Errorf("release = %+v, %v, want none left, each time", r, err)
			}
		}
		_, err = s.Release(t.Context(), "x", 1, false, "k5")
		wantCode(t, err, session.CodeNotOwner)
		other := c.open(0)
		mustAcquire(t, other, "x", a) // ids are of one session
	})
}

// A repeat joins the request that is under way, and outlives it when that one's
// caller gives up.
func TestRepeatJoins(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1, session.Config{}, nil)
		a, s := c.open(0), c.open(0)
		mustAcquire(t, a, "x", session.Acquire{})
		ctx, cancel := context.WithCancel(context.Background())
		gone := make(chan error)
		go func() {
			_, err := s.Acquire(ctx, "x", session.Acquire{Wait: time.Minute, Key: "k"})
			gone <- err
		}()
		synctest.Wait()
		got := wait(t, s, "x", session.Acquire{Wait: time.Minute, Key: "k"})
		cancel()
		if err := <-gone; !errors.Is(err, context.Canceled) {
			t.Errorf("err = %v, want canceled", err)
		}
		mustRelease(t, a, "x")
		if v, _ := within(t, 0, got).View(); v.Count != 1 {
			t.Errorf("count = %d, want 1", v.Count)
		}
	})
}

func TestBadArguments(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1, session.Config{}, nil)
		s := c.open(0)
		ok := session.Acquire{}
		for name, why := range map[string]string{
			"": "empty", strings.Repeat("x", 256): "256 bytes", "a b": "white space", "a\tb": "control", "a\x00": "control",
			"a\u00a0b": "white space", "a\u0085b": "control", "a\xffb": "UTF-8", "lockgw:x": "lockgw:", "redisson_x": "redisson_",
			"a{b": "braces", "a}b": "braces", "a{}b": "braces", "{a}{b}": "braces", "}{": "braces", "a{{b}}": "braces",
		} {
			_, err := s.Acquire(t.Context(), name, ok)
			wantCode(t, err, session.CodeInvalid)
			if err == nil || !strings.Contains(err.Error(), "name") {
				t.Errorf("%q (%s): err = %v, want the field named", name, why, err)
			}
		}
		for _, name := range []string{strings.Repeat("x", 255), "..", "a/b", "a%2Fb", "*", "{t}", "a{t}b", "\u00fc", "u\u0308", "🔒", "x:y"} {
			mustAcquire(t, s, name, ok)
		}
		before := c.nodes[0].Stats()
		for field, bad := range map[string][]session.Acquire{
			"ttl":      {{TTL: time.Millisecond}, {TTL: -1}, {TTL: 25 * time.Hour}},
			"wait":     {{Wait: -1}, {Wait: 6 * time.Minute}},
			"thread":   {{Thread: -1}},
			"max_hold": {{MaxHold: -1}, {MaxHold: math.MaxInt64}},
			"min_hold": {{MinHold: -1}, {MinHold: 25 * time.Hour}, {MinHold: time.Minute, MaxHold: time.Second}},
			"limit":    {{Limit: -1}, {Limit: session.MaxLimit + 1}, {Limit: 1, Shared: true}},
			"note":     {{Note: strings.Repeat("n", 257)}, {Note: "a\nb"}, {Note: "\x1b[2J"}, {Note: "\xff"}},
		} {
			for _, a := range bad {
				_, err := s.Acquire(t.Context(), "bad", a)
				wantCode(t, err, session.CodeInvalid)
				if err == nil || !strings.Contains(err.Error(), field) {
					t.Errorf("%+v: err = %v, want %s named", a, err, field)
				}
			}
		}
		_, err := s.Renew(t.Context(), "..", 1, time.Millisecond)
		wantCode(t, err, session.CodeInvalid)
		if after := c.nodes[0].Stats(); after != before {
			t.Errorf("stats = %+v after bad requests, want %+v", after, before)
		}
	})
}

func TestLimits(t *testing.T) {
	bubble(t, func(t *testing.T) {
		lim := session.Limits{WaitersPerLock: 3, HoldsPerSession: 5, WaitsPerSession: 2, Sessions: 10}
		c := newCluster(t, 1, session.Config{Limits: lim}, nil)
		var all []*session.Session
		for range 10 {
			all = append(all, c.open(0))
		}
		_, _, err := c.nodes[0].Open(session.Options{})
		wantCode(t, err, session.CodeTooManySessions)
		for i := range 5 {
			mustAcquire(t, all[0], fmt.Sprint(i), session.Acquire{})
		}
		_, err = all[0].Acquire(t.Context(), "more", session.Acquire{})
		wantCode(t, err, session.CodeTooManyHolds)
		wait(t, all[1], "0", session.Acquire{Wait: time.Minute})
		wait(t, all[1], "1", session.Acquire{Wait: time.Minute})
		_, err = all[1].Acquire(t.Context(), "2", session.Acquire{Wait: time.Minute})
		wantCode(t, err, session.CodeTooManyWaiters)
		wait(t, all[2], "0", session.Acquire{Wait: time.Minute})
		wait(t, all[3], "0", session.Acquire{Wait: time.Minute})
		_, err = all[4].Acquire(t.Context(), "0", session.Acquire{Wait: time.Minute})
		wantCode(t, err, session.CodeTooManyWaiters)
	})
}

func TestRefusalTellsWho(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 2, session.Config{}, nil)
		a := c.open(0, session.Options{Name: "backup", Peer: session.Peer{PID: 42, UID: 7, Command: "backup.sh"}})
		l := mustAcquire(t, a, "x", session.Acquire{Note: "nightly"})
		for node := range 2 {
			for _, w := range []time.Duration{0, time.Second} {
				_, err := c.open(node).Acquire(t.Context(), "x", session.Acquire{Wait: w})
				var e *session.Error
				if !errors.As(err, &e) || e.Holder == nil || e.Holder.PID != 42 || e.Holder.Note != "nightly" ||
					e.Holder.Node != "node-0" || e.Holder.Owner != l.Owner() || e.Position != 1 {
					t.Errorf("node %d, wait %v: err = %+v, want the holder and position 1", node, w, err)
				}
			}
		}
	})
}

// Other nodes see since when a holder holds, not since when it waited.
func TestSinceTheGrant(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 2, session.Config{}, nil)
		a := c.open(0)
		mustAcquire(t, a, "x", session.Acquire{})
		got := wait(t, c.open(1), "x", session.Acquire{Wait: time.Minute})
		time.Sleep(20 * time.Second)
		mustRelease(t, a, "x")
		within(t, 0, got)
		for node := range 2 {
			if st, err := c.nodes[node].Inspect(t.Context(), "x"); err != nil || st.Holder == nil || time.Since(st.Holder.Since) > time.Second {
				t.Errorf("node %d: holder = %+v, %v, want held since now", node, st.Holder, err)
			}
		}
	})
}

func TestQueuedIsTold(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 2, session.Config{}, nil)
		a := c.open(0)
		mustAcquire(t, a, "x", session.Acquire{})
		told := make(chan int, 10)
		for node := range 2 {
			for i := range 2 {
				wait(t, c.open(node), "x", session.Acquire{Wait: time.Minute, OnQueued: func(p int, h *session.Holder) {
					if h == nil || h.Node != "node-0" {
						t.Errorf("holder = %+v, want node-0", h)
					}
					told <- p
				}})
				if got := <-told; got != i+1 {
					t.Errorf("position = %d, want %d", got, i+1)
				}
			}
		}
		st, err := c.nodes[0].Inspect(t.Context(), "x")
		if err != nil || len(st.Queue) != 2 || st.Waiters < 3 {
			t.Errorf("status = %+v, %v, want two waiters here and more elsewhere", st, err)
		}
	})
}

// Who releases one entry gives back nothing else that has come since: neither the entry that
// another request of the same owner was told of, nor the hold.
func TestReleaseBesideAReentry(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1, session.Config{}, nil)
		s := c.open(0)
		l := mustAcquire(t, s, "x", session.Acquire{})
		mustAcquire(t, s, "x", session.Acquire{}) // after the other has looked
		if l.ReleaseLast() {
			t.Error("both entries are given back by one release")
		}
		if v, err := l.View(); err != nil || v.Count != 2 {
			t.Errorf("hold = %+v, %v, want both entries", v, err)
		}
		mustRelease(t, s, "x")
		if !l.ReleaseLast() {
			t.Error("the last entry is not given back")
		}
		synctest.Wait()
		c.wantFree("x")
	})
}

// One entry less is the word of the client, whether the store has heard of it or not.
func TestEntryIsGivenBackWithoutTheStore(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := &faulty{}
		c := newCluster(t, 1, session.Config{}, hooked(f))
		s := c.open(0)
		mustAcquire(t, s, "x", session.Acquire{})
		mustAcquire(t, s, "x", session.Acquire{})
		f.set(always(errLost, "write"), nil)
		r, err := s.Release(t.Context(), "x", 1, false, "")
		if err != nil || r.Count != 1 {
			t.Errorf("released: %+v, %v, want one entry left", r, err)
		}
		f.set(nil, nil)
	})
}
