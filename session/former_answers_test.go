package session_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgw/lockgw/backend/memory"
	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/session/journal"
)

// Whoever sets the time of day ahead makes no answer older: a repeat gets it within its minute,
// also of the next process, and of the one after that. Those of an earlier version, which have
// the time of day alone, are taken for new.
func TestAnswersWhenTheTimeOfDayIsSet(t *testing.T) {
	for what, spoil := range map[string]func(a *journal.Answer){
		"set ahead":             func(a *journal.Answer) { a.At = a.At.Add(-time.Hour) },
		"of an earlier version": func(a *journal.Answer) { a.At, a.Up = a.At.Add(-time.Hour), 0 },
	} {
		t.Run(what, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := begin(t, memory.NewRows(), session.Config{})
				s, token := p.open(patient)
				fence := mustAcquire(t, s, "x", session.Acquire{Key: "a"}).Fence()
				p.kill()
				changeAnswers(t, p.dir, spoil)
				p = p.start()
				s = p.lookup(token)
				if r, err := s.Release(t.Context(), "x", 1, false, "b"); err != nil || r.Count != 0 {
					t.Errorf("release = %+v, %v", r, err)
				}
				time.Sleep(40 * time.Second) // what is old is swept
				for range 3 {
					g, err := s.Acquire(t.Context(), "x", session.Acquire{Key: "a"})
					if err != nil || g.Lease.Fence() != fence || held(g.Lease) {
						t.Errorf("repeat: %+v, %v, want fence %d, which is over", g, err, fence)
					}
					p = p.restart()
					s = p.lookup(token)
				}
			})
		})
	}
}

// changeAnswers has the journal in dir say something else of its answers.
func changeAnswers(t *testing.T, dir string, change func(a *journal.Answer)) {
	t.Helper()
	j, past, err := journal.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	for id, c := range past.Sessions {
		for key, a := range c.Answers {
			j.Unanswered(id, key)
			change(&a)
			j.Answered(id, a)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
}

// A repeat of an acquire whose hold was lost is told so, also by the next process: a client
// that hears that it has released the lock would not know that another may have it.
func TestRepeatAfterALossAndARestart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := begin(t, memory.NewRows(), session.Config{})
		s, token := p.open(patient)
		a := session.Acquire{Key: "k", MaxHold: time.Second}
		<-mustAcquire(t, s, "x", a).Done()
		synctest.Wait()
		mustAcquire(t, s, "y", session.Acquire{Key: "released"})
		mustRelease(t, s, "y")
		for range 3 {
			g, err := s.Acquire(t.Context(), "x", a)
			if err != nil {
				t.Fatal(err)
			}
			wantCode(t, g.Lease.Err(), session.CodeLost)
			_, err = s.Release(t.Context(), "x", 1, false, "r")
			wantCode(t, err, session.CodeLost)
			_, err = s.Renew(t.Context(), "x", 1, 0)
			wantCode(t, err, session.CodeLost)
			if g, err = s.Acquire(t.Context(), "y", session.Acquire{Key: "released"}); err != nil {
				t.Fatal(err)
			}
			wantCode(t, g.Lease.Err(), session.CodeNotOwner)
			p = p.restart()
			s = p.lookup(token)
		}
	})
}

// So is one whose owner has taken the name again since, and even given it back.
func TestRepeatAfterALossAndAnotherHold(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := begin(t, memory.NewRows(), session.Config{})
		s, token := p.open(patient)
		a := session.Acquire{Key: "k", MaxHold: time.Second}
		<-mustAcquire(t, s, "x", a).Done()
		synctest.Wait()
		mustAcquire(t, s, "x", session.Acquire{Key: "again"})
		mustRelease(t, s, "x")
		for range 3 {
			g, err := s.Acquire(t.Context(), "x", a)
			if err != nil {
				t.Fatal(err)
			}
			wantCode(t, g.Lease.Err(), session.CodeLost)
			if g, err = s.Acquire(t.Context(), "x", session.Acquire{Key: "again"}); err != nil {
				t.Fatal(err)
			}
			wantCode(t, g.Lease.Err(), session.CodeNotOwner)
			p = p.restart()
			s = p.lookup(token)
		}
	})
}

// A repeat after a restart is told of its own hold, not of the one that its owner has had since.
func TestRepeatAfterAnotherHoldAndARestart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := begin(t, memory.NewRows(), session.Config{})
		s, token := p.open(patient)
		first := session.Acquire{Key: "first"}
		fence := mustAcquire(t, s, "x", first).Fence()
		mustRelease(t, s, "x")
		mustAcquire(t, s, "x", session.Acquire{Key: "second", MaxHold: time.Minute})
		for _, d := range []time.Duration{0, 2 * time.Minute} { // the second is held, and then lost
			time.Sleep(d)
			p = p.restart()
			s = p.lookup(token)
			g, err := s.Acquire(t.Context(), "x", first)
			if err != nil || g.Lease.Fence() != fence {
				t.Fatalf("repeat: %+v, %v, want fence %d", g, err, fence)
			}
			wantCode(t, g.Lease.Err(), session.CodeNotOwner)
		}
	})
}

// One of a release of several, some of which were lost, is told that again.
func TestRepeatOfAReleaseInPartAfterARestart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := begin(t, memory.NewRows(), session.Config{})
		s, token := p.open(patient)
		mustAcquire(t, s, "x", session.Acquire{})
		<-mustAcquire(t, s, "y", session.Acquire{MaxHold: time.Second}).Done()
		synctest.Wait()
		for i := range 2 {
			all, err := s.ReleaseAll(t.Context(), []string{"x", "y"}, 1, "k")
			if wantCode(t, err, session.CodeLost); i == 0 && !slices.Equal(all.Released, []string{"x"}) {
				t.Errorf("given back are %q", all.Released)
			}
			p = p.restart()
			s = p.lookup(token)
		}
	})
}
