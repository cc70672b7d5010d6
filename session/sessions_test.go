package session_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgw/lockgw/backend/memory"
	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/session/journal"
)

func all(m *session.Manager, q session.Query) (page []session.Summary) {
	q.Limit = 1000
	page, _ = m.Sessions(q)
	return page
}

// of is what is told about s.
func of(t *testing.T, m *session.Manager, s *session.Session) session.Summary {
	t.Helper()
	page := all(m, session.Query{})
	i := slices.IndexFunc(page, func(x session.Summary) bool { return x.ID == s.ID() })
	if i < 0 {
		t.Fatalf("session %s is not among %d", s.ID(), len(page))
	}
	return page[i]
}

func TestSummary(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1, session.Config{}, nil)
		m := c.nodes[0]
		other := c.open(0)
		mustAcquire(t, other, "taken", session.Acquire{})
		s := c.open(0, session.Options{
			Name: "jobs", Meta: map[string]string{"team": "storage"}, Peer: session.Peer{PID: 4411, UID: 1000, Command: "backup.sh"},
			TTL: 20 * time.Second, Keepalive: time.Minute, MaxHold: time.Hour, Key: "secret of the client",
		})
		mustAcquire(t, s, "b", session.Acquire{})
		mustAcquire(t, s, "a", session.Acquire{})
		time.Sleep(20 * time.Second)
		want := session.Summary{
			ID: s.ID(), UUID: s.UUID(), Name: "jobs", Meta: map[string]string{"team": "storage"},
			Peer: session.Peer{PID: 4411, UID: 1000, Command: "backup.sh"}, Since: s.Since(), Life: journal.Keepalive,
			TTL: 20 * time.Second, Keepalive: time.Minute, Left: 40 * time.Second, MaxHold: time.Hour,
			Holds: 2, Locks: []string{"a", "b"},
		}
		if got := of(t, m, s); !reflect.DeepEqual(got, want) {
			t.Errorf("summary = %+v, want %+v", got, want)
		}
	})
}

// Who waits is not silent, and what waits is told.
func TestSummaryOfAWaiter(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1, session.Config{}, nil)
		mustAcquire(t, c.open(0), "taken", session.Acquire{})
		s := c.open(0, session.Options{Keepalive: 10 * time.Second})
		got := wait(t, s, "taken", session.Acquire{Wait: time.Minute})
		again := wait(t, s, "taken", session.Acquire{Wait: time.Minute, Thread: 2})
		time.Sleep(15 * time.Second)
		if sum := of(t, c.nodes[0], s); sum.Waits != 2 || !slices.Equal(sum.Queues, []string{"taken"}) || sum.Left != 10*time.Second || sum.Holds != 0 {
			t.Errorf("summary = %+v, want two waits for taken, the whole keepalive left and no hold", sum)
		}
		s.End(t.Context(), "enough")
		<-got
		<-again
	})
}

// A hold whose deadline has passed is not told, though nothing has noticed yet.
func TestSummaryPastTheDeadline(t *testing.T) {
	bubble(t, func(t *testing.T) {
		clock := &jumpy{}
		c := newCluster(t, 1, session.Config{Clock: clock.now}, nil)
		s := c.open(0)
		mustAcquire(t, s, "x", session.Acquire{})
		clock.jump(time.Minute)
		if sum := of(t, c.nodes[0], s); sum.Holds != 0 || len(sum.Locks) != 0 {
			t.Errorf("summary = %+v, want no hold", sum)
		}
	})
}

// Of many names the first are told, and how many there are.
func TestSummaryIsBounded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1, session.Config{}, nil)
		s := c.open(0)
		for i := range 3 * session.MostNames {
			mustAcquire(t, s, fmt.Sprintf("lock-%02d", i), session.Acquire{Shared: true})
		}
		mustAcquire(t, s, "lock-00", session.Acquire{Shared: true, Thread: 2})
		sum := of(t, c.nodes[0], s)
		if sum.Holds != 3*session.MostNames+1 || len(sum.Locks) != session.MostNames || sum.Locks[0] != "lock-00" || sum.Locks[1] != "lock-01" {
			t.Errorf("%d holds, names %q, want all counted and the first %d names, each once", sum.Holds, sum.Locks, session.MostNames)
		}
	})
}

func TestLives(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1, session.Config{}, nil)
		blocks := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		for want, o := range map[session.Life]session.Options{
			journal.Connection: {Conns: true},
			journal.Process:    {Alive: blocks, Process: session.Process{PID: 4411}, Conns: true},
			journal.Keepalive:  {Keepalive: time.Minute, Conns: true},
			journal.MaxHold:    {OneLock: true, MaxHold: time.Hour},
		} {
			s := c.open(0, o)
			if err := s.Attach(); err != nil {
				t.Fatal(err)
			}
			if sum := of(t, c.nodes[0], s); sum.Life != want || sum.Process != o.Process.PID || sum.Conns != 1 {
				t.Errorf("summary = %+v, want life %s, process %d, one connection", sum, want, o.Process.PID)
			}
		}
	})
}

// Every session is on one page, in the order of their IDs, while others come and go.
func TestSessionsPaged(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1, session.Config{}, nil)
		var want []string
		for range 500 {
			want = append(want, c.open(0, session.Options{Name: "stays"}).ID())
		}
		slices.Sort(want)
		var got []string
		for after, pages := "", 0; ; pages++ {
			c.open(0, session.Options{Name: "other"}).End(t.Context(), "goes")
			page, next := c.nodes[0].Sessions(session.Query{Prefix: "stay", After: after, Limit: 7})
			for _, sum := range page {
				got = append(got, sum.ID)
			}
			if next == "" {
				break
			}
			if len(page) != 7 || pages > 500 {
				t.Fatalf("page %d has %d sessions, want 7 on all but the last", pages, len(page))
			}
			after = next
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d sessions on all pages, want each of the %d once, in order", len(got), len(want))
		}
	})
}

// The last page that is full is the last.
func TestSessionsEvenPages(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1, session.Config{}, nil)
		if page, next := c.nodes[0].Sessions(session.Query{Limit: 2}); len(page) != 0 || next != "" {
			t.Errorf("without sessions: %d, next %q, want none", len(page), next)
		}
		c.open(0)
		c.open(0)
		if page, next := c.nodes[0].Sessions(session.Query{Limit: 2}); len(page) != 2 || next != "" {
			t.Errorf("%d sessions, next %q, want both and no more", len(page), next)
		}
	})
}

// Who may know of some names only is told of their sessions, and of no other name.
func TestSessionsSeen(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1, session.Config{}, nil)
		holder, waiter, other := c.open(0), c.open(0), c.open(0)
		mustAcquire(t, holder, "mine/a", session.Acquire{})
		mustAcquire(t, holder, "secret", session.Acquire{})
		mustAcquire(t, other, "secret/b", session.Acquire{})
		got := wait(t, waiter, "mine/a", session.Acquire{Wait: time.Minute})
		hidden := wait(t, waiter, "secret/b", session.Acquire{Wait: time.Minute, Thread: 2})
		seen := map[string]session.Summary{}
		for _, sum := range all(c.nodes[0], session.Query{Sees: func(lock string) bool { return strings.HasPrefix(lock, "mine/") }}) {
			seen[sum.ID] = sum
		}
		h, w := seen[holder.ID()], seen[waiter.ID()]
		if len(seen) != 2 || h.Holds != 1 || !slices.Equal(h.Locks, []string{"mine/a"}) || w.Waits != 1 || !slices.Equal(w.Queues, []string{"mine/a"}) {
			t.Errorf("seen %+v, want the holder and the waiter of mine/a, and no other name", seen)
		}
		waiter.End(t.Context(), "enough")
		<-got
		<-hidden
	})
}

// Sessions that are opened, listed and ended at once: nothing stays that is over.
func TestSessionsAtOnce(t *testing.T) {
	c := newCluster(t, 1, session.Config{Clock: session.Boottime}, nil)
	m := c.nodes[0]
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 200 {
				s, _, err := m.Open(session.Options{Conns: true})
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = s.Acquire(t.Context(), "x", session.Acquire{})
				_, _ = m.EndSession(t.Context(), s.ID(), "a test")
			}
		})
		wg.Go(func() {
			for range 200 {
				all(m, session.Query{Sees: func(string) bool { return true }})
			}
		})
	}
	wg.Wait()
	if left := all(m, session.Query{}); len(left) != 0 || m.Stats().Sessions != 0 {
		t.Errorf("%d sessions are listed and %d there, want none", len(left), m.Stats().Sessions)
	}
}

// A session that is not opened is not listed, and neither is one that has ended.
func TestSessionsNotThere(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1, session.Config{Limits: session.Limits{Sessions: 1}}, nil)
		s := c.open(0, session.Options{Key: "k"})
		if same := c.open(0, session.Options{Key: "k"}); same != s {
			t.Error("a repeat has opened another session")
		}
		_, _, err := c.nodes[0].Open(session.Options{})
		wantCode(t, err, session.CodeTooManySessions)
		if page := all(c.nodes[0], session.Query{}); len(page) != 1 {
			t.Errorf("%d sessions, want the one", len(page))
		}
		s.End(t.Context(), "enough")
		if page := all(c.nodes[0], session.Query{}); len(page) != 0 {
			t.Errorf("after the end: %+v, want none", page)
		}
	})
}

func TestEndSession(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var log bytes.Buffer
		c := newCluster(t, 2, session.Config{Log: slog.New(slog.NewTextHandler(&log, nil))}, nil)
		m := c.nodes[0]
		s, token, err := m.Open(session.Options{Keepalive: time.Hour, Name: "jobs"})
		if err != nil {
			t.Fatal(err)
		}
		mustAcquire(t, c.open(1), "taken", session.Acquire{})
		l := mustAcquire(t, s, "x", session.Acquire{MinHold: time.Hour})
		mustAcquire(t, s, "shared", session.Acquire{Shared: true})
		mustAcquire(t, s, "sem", session.Acquire{Limit: 2})
		waits := make(chan error)
		go func() {
			_, err := s.Acquire(context.Background(), "taken", session.Acquire{Wait: time.Minute})
			waits <- err
		}()
		next := wait(t, c.open(1), "x", session.Acquire{Wait: time.Minute})
		sub := m.Follow(s.ID(), 10, func(session.Event) bool { return true })
		defer sub.Close()
		e, err := m.EndSession(t.Context(), s.ID(), "uid 0, pid 1 (test)")
		slices.Sort(e.Released)
		if err != nil || e.Pending || !slices.Equal(e.Released, []string{"sem", "shared", "x"}) {
			t.Fatalf("ended = %+v, %v, want x, shared and sem", e, err)
		}
		wantCode(t, <-waits, session.CodeSessionEnded)
		wantCode(t, l.Err(), session.CodeLost)
		_, err = m.Lookup(token)
		wantCode(t, err, session.CodeSessionEnded)
		if !strings.Contains(err.Error(), "administrator") {
			t.Errorf("err = %v, want who did it", err)
		}
		for range 3 {
			if e := <-sub.C; e.Type != session.EventLost || e.Reason != "session_ended" {
				t.Errorf("event = %+v, want lost, session_ended", e)
			}
		}
		if e := <-sub.C; e.Type != session.EventSessionEnded {
			t.Errorf("event = %+v, want session_ended", e)
		}
		within(t, 0, next)
		if got := log.String(); !strings.Contains(got, "audit=end_session") || !strings.Contains(got, s.ID()) || !strings.Contains(got, "uid 0, pid 1 (test)") || strings.Contains(got, token.Secret()) {
			t.Errorf("log = %s, want the audit record with id and who, without the token", got)
		}
	})
}

// Nobody gets the names of a session that was ended for the delay after a loss.
func TestEndSessionDelays(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1, session.Config{Delay: 10 * time.Second}, nil)
		s := c.open(0)
		mustAcquire(t, s, "x", session.Acquire{})
		if _, err := c.nodes[0].EndSession(t.Context(), s.ID(), "a test"); err != nil {
			t.Fatal(err)
		}
		_, err := c.open(0).Acquire(t.Context(), "x", session.Acquire{Wait: 9 * time.Second})
		wantCode(t, err, session.CodeWaitTimeout)
		mustAcquire(t, c.open(0), "x", session.Acquire{Wait: 2 * time.Second})
	})
}

func TestEndNoSession(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var log bytes.Buffer
		c := newCluster(t, 1, session.Config{Log: slog.New(slog.NewTextHandler(&log, nil))}, nil)
		s := c.open(0)
		s.End(t.Context(), "enough")
		for _, id := range []string{"", "nobody", s.ID(), s.UUID(), strings.Repeat("x", 1000), "a\nb"} {
			_, err := c.nodes[0].EndSession(t.Context(), id, "a test")
			wantCode(t, err, session.CodeNoSession)
		}
		if n := strings.Count(log.String(), "a session was not ended"); n != 6 {
			t.Errorf("%d audit records of refusals, want 6", n)
		}
	})
}

// While the store does not answer, the session ends all the same.
func TestEndSessionWithoutStore(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := &faulty{}
		c := newCluster(t, 1, session.Config{}, hooked(f))
		s := c.open(0)
		l := mustAcquire(t, s, "x", session.Acquire{MaxHold: 5 * time.Second}) // in the store it may last for all of its lease
		f.set(always(errLost), nil)
		e, err := c.nodes[0].EndSession(t.Context(), s.ID(), "a test")
		if err != nil || !e.Pending || e.FreeBy <= 5*time.Second || e.FreeBy > 30*time.Second || held(l) || s.Err() == nil {
			t.Errorf("ended = %+v, %v, held %v, want pending, free within the ttl, and nothing held", e, err, held(l))
		}
		f.set(nil, nil)
		synctest.Wait()
		mustAcquire(t, c.open(0), "x", session.Acquire{Wait: time.Minute})
	})
}

// After a restart the session is listed as before, and ends for good: also before the
// store has confirmed what it holds.
func TestSessionsAfterRestart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := begin(t, memory.NewRows(), session.Config{})
		s, token := p.open(session.Options{Conns: true, Name: "jobs", Meta: map[string]string{"team": "storage"}})
		mustAcquire(t, s, "x", session.Acquire{})
		before := of(t, p.Manager, s)
		p.kill()
		q := p.startOver(always(errLost))
		after := of(t, q.Manager, q.lookup(token))
		before.Since, after.Since = before.Since.UTC().Round(0), after.Since.UTC().Round(0)
		if !reflect.DeepEqual(after, before) {
			t.Errorf("after the restart %+v, before %+v", after, before)
		}
		if e, err := q.EndSession(t.Context(), s.ID(), "a test"); err != nil || !slices.Equal(e.Released, []string{"x"}) || !e.Pending {
			t.Errorf("ended = %+v, %v, want x, pending", e, err)
		}
		q.f.set(nil, nil)
		mustAcquire(t, other(t, q), "x", session.Acquire{Wait: time.Minute})
		if r := q.restart(); len(all(r.Manager, session.Query{})) != 0 {
			t.Error("the session came back after the next restart")
		}
	})
}

// A session is ended once, by whoever of several is first, and the others are told that it is gone.
func TestEndSessionAtOnce(t *testing.T) {
	for range 50 {
		bubble(t, func(t *testing.T) {
			c := newCluster(t, 1, session.Config{}, nil)
			s := c.open(0, session.Options{Peer: session.NoPeer(), User: "user:1"})
			mustAcquire(t, s, "x", session.Acquire{})
			var ended, locks atomic.Int32
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() {
					if e, err := c.nodes[0].EndSession(t.Context(), s.ID(), "a test"); err == nil {
						ended.Add(1)
						locks.Add(int32(len(e.Released)))
					}
				})
				wg.Go(func() {
					e := c.nodes[0].EndUser(t.Context(), "user:1", "a test")
					ended.Add(int32(e.Sessions))
					locks.Add(int32(len(e.Released)))
				})
			}
			wg.Wait()
			if ended.Load() != 1 || locks.Load() != 1 {
				t.Errorf("one session with one lock was ended %d times, with %d locks", ended.Load(), locks.Load())
			}
		})
	}
}
