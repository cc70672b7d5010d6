package session_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend/memory"
	"github.com/lockgw/lockgw/session"
)

// most acquires names until that is refused by limits.holds_per_user, and returns how many it got.
func most(t *testing.T, s *session.Session, prefix string, a session.Acquire) (n int) {
	t.Helper()
	for ; n < 100; n++ {
		if _, err := s.Acquire(t.Context(), fmt.Sprint(prefix, n), a); err != nil {
			wantCode(t, err, session.CodeTooManyHolds)
			if !strings.Contains(err.Error(), "limits.holds_per_user") {
				t.Errorf("refused by %v, want the limit named", err)
			}
			return n
		}
	}
	t.Fatal("a hundred holds, and no limit")
	return n
}

// One user who holds as many names as the gateway lets him, in however many sessions, leaves
// room for others and for an administrator. What he holds he can enter again.
func TestHoldsOfAUser(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1, session.Config{Limits: session.Limits{HoldsPerUser: 4}}, nil)
		alice := session.Options{User: "user:1000", Peer: session.NoPeer()}
		admin := session.Options{User: "user:0", Administers: true, Peer: session.NoPeer()}
		first, second := c.open(0, alice), c.open(0, alice)
		mustAcquire(t, first, "x", session.Acquire{})
		mustAcquire(t, first, "shared", session.Acquire{Shared: true})
		if n := most(t, second, "second", session.Acquire{}); n != 2 {
			t.Errorf("%d more, want 2", n)
		}
		mustAcquire(t, first, "x", session.Acquire{})
		_, err := first.Acquire(t.Context(), "wait", session.Acquire{Wait: time.Minute})
		wantCode(t, err, session.CodeTooManyHolds)
		if n := most(t, c.open(0), "other", session.Acquire{}); n != 4 {
			t.Errorf("another user got %d, want 4", n)
		}
		for i := range 10 {
			mustAcquire(t, c.open(0, admin), fmt.Sprint("admin", i), session.Acquire{})
		}
	})
}

// However a hold ends, it does not count any more; and not before.
func TestHoldsOfAUserEnd(t *testing.T) {
	ends := map[string]func(t *testing.T, m *session.Manager, s *session.Session, l *session.Lease){
		"released":     func(t *testing.T, _ *session.Manager, s *session.Session, _ *session.Lease) { mustRelease(t, s, "x") },
		"max_hold":     func(*testing.T, *session.Manager, *session.Session, *session.Lease) { time.Sleep(time.Hour) },
		"session over": func(t *testing.T, _ *session.Manager, s *session.Session, _ *session.Lease) { s.End(t.Context(), "") },
		"broken": func(t *testing.T, m *session.Manager, _ *session.Session, l *session.Lease) {
			if err := m.Break(t.Context(), "x", l.Fence(), "", "a test"); err != nil {
				t.Error(err)
			}
		},
		"refused behind it": func(t *testing.T, _ *session.Manager, s *session.Session, _ *session.Lease) {
			for range 5 {
				_, err := s.AcquireAll(t.Context(), []string{"a", "z"}, session.Acquire{})
				wantCode(t, err, session.CodeLocked)
			}
			mustRelease(t, s, "x")
		},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c := newCluster(t, 1, session.Config{Limits: session.Limits{HoldsPerUser: 3}}, nil)
				alice := session.Options{User: "user:1000", Peer: session.NoPeer()}
				mustAcquire(t, c.open(0), "z", session.Acquire{})
				s := c.open(0, alice)
				end(t, c.nodes[0], s, mustAcquire(t, s, "x", session.Acquire{MaxHold: time.Minute}))
				if n := most(t, c.open(0, alice), "n", session.Acquire{}); n != 3 {
					t.Errorf("%d after the end, want 3", n)
				}
			})
		})
	}
}

// A name that min_hold keeps is its user's until then, though nobody holds it and the session is
// over: without that one session could have the gateway keep names without end.
func TestKeptNamesOfAUser(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1, session.Config{Limits: session.Limits{HoldsPerUser: 3}}, nil)
		alice := session.Options{User: "user:1000", Peer: session.NoPeer()}
		s := c.open(0, alice)
		for i := range 3 {
			name := fmt.Sprint("kept", i)
			mustAcquire(t, s, name, session.Acquire{MinHold: time.Hour})
			mustRelease(t, s, name)
		}
		s.End(t.Context(), "done")
		if n := most(t, c.open(0, alice), "n", session.Acquire{}); n != 0 {
			t.Errorf("%d beside three that are kept, want none", n)
		}
		time.Sleep(2 * time.Hour)
		if n := most(t, c.open(0, alice), "n", session.Acquire{}); n != 3 {
			t.Errorf("%d after their min_hold, want 3", n)
		}
	})
}

// What a user holds is counted over a restart of the gateway, and once.
func TestHoldsOfAUserOverARestart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := begin(t, memory.NewRows(), session.Config{Limits: session.Limits{HoldsPerUser: 3}})
		o := session.Options{Keepalive: 10 * time.Minute, User: "user:1000"}
		s, token := p.open(o)
		most(t, s, "n", session.Acquire{})
		p = p.restart()
		s = p.lookup(token)
		if n := most(t, s, "more", session.Acquire{}); n != 0 {
			t.Errorf("%d more after a restart, want none", n)
		}
		mustRelease(t, s, "n0")
		if n := most(t, s, "more", session.Acquire{}); n != 1 {
			t.Errorf("%d in place of one that was released, want 1", n)
		}
	})
}

// An administrator is one after a restart of the gateway, too.
func TestHoldsOfAnAdministratorOverARestart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := begin(t, memory.NewRows(), session.Config{Limits: session.Limits{HoldsPerUser: 3}})
		s, token := p.open(session.Options{Keepalive: 10 * time.Minute, User: "user:0", Administers: true})
		for i := range 4 {
			mustAcquire(t, s, fmt.Sprint("before", i), session.Acquire{})
		}
		p = p.restart()
		mustAcquire(t, p.lookup(token), "after", session.Acquire{})
	})
}
