package session_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgw/lockgw/backend/memory"
	"github.com/lockgw/lockgw/session"
)

// fill opens sessions of a user until that is refused, and returns them with the error.
func fill(t *testing.T, m *session.Manager, o session.Options) (all []*session.Session, err error) {
	t.Helper()
	o.Peer = session.NoPeer()
	for range 1000 {
		s, _, err := m.Open(o)
		if err != nil {
			wantCode(t, err, session.CodeTooManySessions)
			return all, err
		}
		all = append(all, s)
	}
	t.Fatal("a thousand sessions, and no limit")
	return nil, nil
}

// One user who opens as many sessions as the gateway lets him leaves room for others, and
// all others leave room for an administrator.
func TestShareOfAUser(t *testing.T) {
	bubble(t, func(t *testing.T) {
		limits := session.Limits{Sessions: 200, SessionsPerUser: 120}
		m := newCluster(t, 1, session.Config{Limits: limits}, nil).nodes[0]
		day := session.Options{Keepalive: 24 * time.Hour}
		alice := day
		alice.User = "user:1000"
		all, err := fill(t, m, alice)
		if len(all) != 120 || !strings.Contains(err.Error(), "limits.sessions_per_user") {
			t.Errorf("%d sessions, then %v, want 120 and the limit named", len(all), err)
		}
		all[0].End(t.Context(), "enough")
		if all, _ := fill(t, m, alice); len(all) != 1 {
			t.Errorf("%d sessions in place of one that has ended", len(all))
		}
		others, err := fill(t, m, day)
		if len(others) != 78 || !strings.Contains(err.Error(), "(limits.sessions)") {
			t.Errorf("%d sessions of others, then %v, want 78 and the limit named", len(others), err)
		}
		admin := day
		admin.User, admin.Administers = "user:0", true
		if all, _ := fill(t, m, admin); len(all) != 2 {
			t.Errorf("%d sessions of an administrator, want the last hundredth", len(all))
		}
	})
}

// Where sessions are scarce, those that hold nothing, wait for nothing and say nothing
// make room, and no others.
func TestIdleSessionsMakeRoom(t *testing.T) {
	bubble(t, func(t *testing.T) {
		limits := session.Limits{Sessions: 1000, SessionsPerUser: 10}
		m := newCluster(t, 1, session.Config{Limits: limits}, nil).nodes[0]
		o := session.Options{Keepalive: 24 * time.Hour, User: "user:1000", Peer: session.NoPeer()}
		bound := o
		bound.Alive = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		lives, _, err := m.Open(bound)
		if err != nil {
			t.Fatal(err)
		}
		all, _ := fill(t, m, o)
		holds, waits, joined, talks, stranger := all[0], all[1], all[2], all[3], o
		stranger.User = "user:1001"
		far, _, err := m.Open(stranger)
		if err != nil {
			t.Fatal(err)
		}
		mustAcquire(t, holds, "x", session.Acquire{})
		_ = wait(t, waits, "x", session.Acquire{Wait: 4 * time.Minute})
		if err := joined.Attach(); err != nil {
			t.Fatal(err)
		}
		if _, _, err := m.Open(o); err == nil {
			t.Error("opened at the expense of one that was heard of just now")
		}
		time.Sleep(61 * time.Second)
		talks.Touch()
		if _, _, err := m.Open(o); err != nil {
			t.Fatalf("no room after a minute: %v", err)
		}
		synctest.Wait()
		for _, s := range []*session.Session{lives, holds, waits, joined, talks, far} {
			if s.Err() != nil {
				t.Errorf("ended: %v", s.Err())
			}
		}
		for _, s := range all[4:] {
			wantCode(t, s.Err(), session.CodeSessionEnded)
		}
	})
}

// What a user has is counted over a restart of the gateway.
func TestShareOverARestart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := begin(t, memory.NewRows(), session.Config{Limits: session.Limits{SessionsPerUser: 5}})
		o := session.Options{Keepalive: time.Hour, User: "user:1000"}
		_, _ = fill(t, p.Manager, o)
		p = p.restart()
		if all, _ := fill(t, p.Manager, o); len(all) != 0 {
			t.Errorf("%d more sessions after a restart, want none", len(all))
		}
	})
}

// An administrator ends all that a user has.
func TestEndUser(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1, session.Config{}, nil)
		m := c.nodes[0]
		o := session.Options{Keepalive: time.Hour, User: "user:1000", Peer: session.NoPeer()}
		a, b, other := c.open(0, o), c.open(0, o), c.open(0)
		l := mustAcquire(t, a, "x", session.Acquire{})
		mine := mustAcquire(t, other, "y", session.Acquire{})
		e := m.EndUser(t.Context(), "user:1000", "a test")
		if e.Sessions != 2 || len(e.Released) != 1 || e.Released[0] != "x" || e.Pending {
			t.Errorf("ended %+v, want two sessions and x", e)
		}
		for _, s := range []*session.Session{a, b} {
			wantCode(t, s.Err(), session.CodeSessionEnded)
		}
		wantCode(t, l.Err(), session.CodeLost)
		if !held(mine) {
			t.Error("another user's lock is lost")
		}
	})
}

// Whoever ends a session twice makes no room for another one.
func TestRoomOfASessionThatEndsTwice(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1, session.Config{Limits: session.Limits{SessionsPerUser: 2}}, nil)
		s := c.open(0)
		c.open(0)
		for range 2 {
			s.End(t.Context(), "done")
		}
		c.open(0)
		_, _, err := c.nodes[0].Open(session.Options{Peer: session.NoPeer()})
		wantCode(t, err, session.CodeTooManySessions)
	})
}
