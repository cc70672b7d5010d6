package session_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend/memory"
	"github.com/lockgw/lockgw/session"
)

// The journal has an answer for each name of a request, and forgets none within a minute: they
// are counted so. A repeat, also after a restart, is none more.
func TestAnswersForSeveralNames(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := begin(t, memory.NewRows(), session.Config{Limits: session.Limits{AnswersPerUser: 20}})
		s, token := p.open(patient)
		names := func(of string) (all []string) {
			for i := range 8 {
				all = append(all, fmt.Sprint(of, i))
			}
			return all
		}
		first := mustAcquireAll(t, s, session.Acquire{Key: "a"}, names("a")...)[7].Lease.Fence()
		mustAcquireAll(t, s, session.Acquire{Key: "b"}, names("b")...)
		for range 2 {
			if _, err := s.AcquireAll(t.Context(), names("c"), session.Acquire{Key: "c"}); err == nil || !strings.Contains(err.Error(), "limits.answers_per_user") {
				t.Errorf("the third time: %v, want the limit named", err)
			}
			for i := range 4 {
				mustAcquire(t, s, "x", session.Acquire{Key: fmt.Sprint("x", i)})
			}
			if gs, err := s.AcquireAll(t.Context(), names("a"), session.Acquire{Key: "a"}); err != nil || gs[7].Lease.Fence() != first || !held(gs[7].Lease) {
				t.Errorf("a repeat: %v, %v, want the first answer", gs, err)
			}
			p = p.restart()
			s = p.lookup(token)
		}
		if done, err := s.ReleaseAll(t.Context(), names("b"), 1, "d"); err != nil || len(done.Released) != 8 {
			t.Errorf("what is held cannot be given back: %+v, %v", done, err)
		}
		time.Sleep(61 * time.Second)
		mustAcquireAll(t, s, session.Acquire{Key: "c"}, names("c")...)
		time.Sleep(61 * time.Second)
		mustAcquireAll(t, s, session.Acquire{Key: "e"}, append(append(names("e"), names("f")...), names("g")...)...) // more than the limit
	})
}

// What a request has given back, because it did not get all of its names, takes the place of no
// answer, also after a restart.
func TestNoAnswersForWhatWasGivenBack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := begin(t, memory.NewRows(), session.Config{Limits: session.Limits{AnswersPerUser: 9}})
		s, token := p.open(patient)
		mustAcquire(t, s, "a", session.Acquire{})
		mustAcquire(t, other(t, p), "z", session.Acquire{})
		for i := range 5 {
			_, err := s.AcquireAll(t.Context(), []string{"a", "b", "z"}, session.Acquire{Key: fmt.Sprint(i)})
			wantCode(t, err, session.CodeLocked)
		}
		p = p.restart()
		mustAcquire(t, p.lookup(token), "x", session.Acquire{Key: "x"})
	})
}

// The answer to a repeat of what the process before has answered is forgotten as others are.
func TestRepeatForSeveralNamesIsForgotten(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := begin(t, memory.NewRows(), session.Config{})
		s, token := p.open(session.Options{Keepalive: 2 * time.Hour})
		a := session.Acquire{Key: "k"}
		first := mustAcquireAll(t, s, a, "a", "b")
		p = p.restart()
		s = p.lookup(token)
		time.Sleep(time.Minute)
		mustAcquireAll(t, s, a, "a", "b")
		if _, err := s.ReleaseAll(t.Context(), []string{"a", "b"}, 1, ""); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if g := mustAcquireAll(t, s, a, "a", "b")[0]; !held(g.Lease) {
			t.Errorf("after an hour a repeat gets fence %d, which is over; the first one was %d", g.Lease.Fence(), first[0].Lease.Fence())
		}
	})
}
