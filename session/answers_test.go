package session_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgw/lockgw/backend/memory"
	"github.com/lockgw/lockgw/session"
)

// A flood of requests with ids that change nothing leaves nothing: neither in memory nor
// in the journal.
func TestRefusalsAreNotRemembered(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := begin(t, memory.NewRows(), session.Config{})
		s, _ := p.open(patient)
		holder, _ := p.open(patient)
		mustAcquire(t, holder, "held", session.Acquire{})
		size := func() int64 {
			st, err := os.Stat(filepath.Join(p.dir, "journal"))
			if err != nil {
				t.Fatal(err)
			}
			return st.Size()
		}
		before := size()
		name := strings.Repeat("x", 255)
		for i := range 2000 {
			_, err := s.Release(t.Context(), name, 1, false, fmt.Sprint("release ", i))
			wantCode(t, err, session.CodeNotOwner)
			_, err = s.ReleaseAll(t.Context(), []string{name}, 1, fmt.Sprint("release all ", i))
			wantCode(t, err, session.CodeNotOwner)
			_, err = s.Acquire(t.Context(), "held", session.Acquire{Key: fmt.Sprint("acquire ", i)})
			wantCode(t, err, session.CodeLocked)
		}
		if n := p.Stats().Answers; n != 0 {
			t.Errorf("%d answers are remembered that changed nothing", n)
		}
		if grown := size() - before; grown > 300<<10 { // it grows by chunks, and by what the store is asked
			t.Errorf("the journal grew by %d bytes", grown)
		}
		mustRelease(t, holder, "held")
		mustAcquire(t, s, "held", session.Acquire{Key: "acquire 1"}) // asked again it is another try
	})
}

// pairs acquires and releases with keys until that is refused, and says how often it was
// not. What it holds it can give back in any case.
func pairs(t *testing.T, s *session.Session, what string, most int) (n int, err error) {
	t.Helper()
	for n < most {
		name := fmt.Sprint(what, n)
		if _, err := s.Acquire(t.Context(), name, session.Acquire{Key: "acquire " + name}); err != nil {
			wantCode(t, err, session.CodeTooManyHolds)
			return n, err
		}
		if _, err := s.Release(t.Context(), name, 1, false, "release "+name); err != nil {
			t.Errorf("release: %v", err)
		}
		n++
	}
	return n, nil
}

// One user's answers are bounded, however many sessions it has; those of others are
// remembered all the same.
func TestAnswersOfAUser(t *testing.T) {
	bubble(t, func(t *testing.T) {
		limits := session.Limits{AnswersPerUser: 20, Answers: 100}
		c := newCluster(t, 1, session.Config{Limits: limits}, nil)
		o := session.Options{Peer: session.NoPeer(), User: "user:1000"}
		a, b := c.open(0, o), c.open(0, o)
		if n, _ := pairs(t, a, "a", 5); n != 5 {
			t.Errorf("%d pairs of the first session", n)
		}
		n, err := pairs(t, b, "b", 100)
		if n != 5 || !strings.Contains(err.Error(), "limits.answers_per_user") {
			t.Errorf("%d pairs of the second session, then %v; want 5 and the limit named", n, err)
		}
		g, err := a.Acquire(t.Context(), "a1", session.Acquire{Key: "acquire a1"})
		if err != nil || g.Lease.Err() == nil {
			t.Errorf("a repeat: %+v, %v, want the first answer, whose hold is over", g, err)
		}
		mustAcquire(t, b, "without", session.Acquire{})
		if _, err := b.Release(t.Context(), "without", 1, false, "k"); err != nil {
			t.Errorf("what is held cannot be given back: %v", err)
		}
		o.User = "user:1001"
		if n, _ := pairs(t, c.open(0, o), "c", 5); n != 5 {
			t.Errorf("%d pairs of another user", n)
		}
		time.Sleep(61 * time.Second)
		if n, _ := pairs(t, b, "d", 3); n != 3 {
			t.Errorf("%d pairs after a minute", n)
		}
	})
}

// All together are bounded, too, and nobody is shut out by others.
func TestAnswersInAll(t *testing.T) {
	bubble(t, func(t *testing.T) {
		limits := session.Limits{AnswersPerUser: 40, Answers: 60}
		c := newCluster(t, 1, session.Config{Limits: limits}, nil)
		for i := range 10 {
			o := session.Options{Peer: session.NoPeer(), User: fmt.Sprint("user:", i)}
			if n, _ := pairs(t, c.open(0, o), o.User, 100); n < 3 {
				t.Errorf("user %d has %d pairs", i, n)
			}
		}
		if n := c.nodes[0].Stats().Answers; n > 3*60 {
			t.Errorf("%d answers, with a limit of 60", n)
		}
	})
}

// What is old goes also if nobody asks any more, and with its session.
func TestAnswersAreSwept(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1, session.Config{}, nil)
		m := c.nodes[0]
		s := c.open(0)
		_, _ = pairs(t, s, "a", 10)
		if n := m.Stats().Answers; n != 20 {
			t.Errorf("%d answers, want 20", n)
		}
		time.Sleep(9 * time.Minute)
		if n := m.Stats().Answers; n != 20 {
			t.Errorf("%d answers after 9 minutes, want 20", n)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if n := m.Stats().Answers; n != 0 {
			t.Errorf("%d answers after 11 minutes, want none", n)
		}
		_, _ = pairs(t, s, "b", 10)
		s.End(t.Context(), "enough")
		if n := m.Stats().Answers; n != 0 {
			t.Errorf("%d answers of a session that has ended", n)
		}
	})
}

// An error after which something was changed is remembered: to do the rest again would
// take what was not asked for.
func TestPartialReleaseIsRemembered(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1, session.Config{}, nil)
		s := c.open(0)
		mustAcquire(t, s, "a", session.Acquire{})
		mustAcquire(t, s, "a", session.Acquire{})
		mustAcquire(t, s, "b", session.Acquire{MaxHold: time.Second})
		time.Sleep(2 * time.Second)
		for range 3 {
			_, err := s.ReleaseAll(t.Context(), []string{"a", "b"}, 1, "k")
			wantCode(t, err, session.CodeLost)
		}
		l, err := s.Lease("a", 1)
		if err != nil {
			t.Fatalf("each repeat gave back an entry: %v", err)
		}
		if v, err := l.View(); err != nil || v.Count != 1 {
			t.Errorf("count = %d, %v, want 1", v.Count, err)
		}
	})
}

// Of more answers than one user may have the next process forgets the oldest, and takes new
// requests as this one would.
func TestRestartKeepsTheNewestAnswers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := begin(t, memory.NewRows(), session.Config{Limits: session.Limits{AnswersPerUser: 40}})
		s, token := p.open(patient)
		for i := range 4 {
			if n, err := pairs(t, s, fmt.Sprint("a", i, "-"), 20); n != 20 {
				t.Fatalf("%d pairs, %v", n, err)
			}
			time.Sleep(61 * time.Second)
		}
		last := mustAcquire(t, s, "last", session.Acquire{Key: "the last"})
		p = p.restart()
		s = p.lookup(token)
		if n := p.Stats().Answers; n != 40 {
			t.Errorf("%d answers, want 40", n)
		}
		g, err := s.Acquire(t.Context(), "last", session.Acquire{Key: "the last"})
		if err != nil || !g.New || g.Lease.Fence() != last.Fence() {
			t.Errorf("the newest answer is %+v, %v, want that of before", g, err)
		}
		if n, err := pairs(t, s, "b", 5); n != 5 {
			t.Errorf("%d pairs after the restart, then %v", n, err)
		}
		time.Sleep(rememberedFor - time.Minute)
		synctest.Wait()
		if n := p.Stats().Answers; n != 11 {
			t.Errorf("%d answers are remembered, want those of the last ten minutes", n)
		}
	})
}

// rememberedFor is how long answers are, if they are few.
const rememberedFor = 10 * time.Minute

// With an emptied journal the embedded store knows of no hold. It does not give a lock to
// somebody else while its client relies on it.
func TestNothingIsGrantedAfterALostJournal(t *testing.T) {
	bubble(t, func(t *testing.T) {
		clock := &jumpy{}
		p := begin(t, memory.NewRows(), session.Config{Clock: clock.now})
		s, _ := p.open(patient)
		v, err := mustAcquire(t, s, "x", session.Acquire{}).View()
		if err != nil {
			t.Fatal(err)
		}
		p.kill()
		if err := os.Truncate(filepath.Join(p.dir, "journal"), 0); err != nil {
			t.Fatal(err)
		}
		p.own = true
		p = p.start().restart() // nor does the process after that know of it
		other, _ := p.open(patient)
		_, err = other.Acquire(t.Context(), "x", session.Acquire{})
		wantCode(t, err, session.CodeUnavailable)
		began := clock.now()
		if _, err := other.Acquire(t.Context(), "x", session.Acquire{Wait: time.Minute}); err != nil {
			t.Fatalf("after %v: %v", clock.now()-began, err)
		}
		if now := clock.now(); now < v.Deadline {
			t.Errorf("granted %v before the first holder's deadline", v.Deadline-now)
		}
	})
}
