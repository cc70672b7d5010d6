package session_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/memory"
	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/session/journal"
)

// placesAfter are what the journal of p tells of when p is killed.
func placesAfter(t *testing.T, p *process) map[journal.Key]*journal.Place {
	t.Helper()
	p.kill()
	j, past, err := journal.Open(p.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	return past.Places
}

// Names that are not used any more are forgotten by the journal, but for some that may be used again.
func TestJournalForgetsNames(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := begin(t, memory.NewRows(), session.Config{})
		s, _ := p.open(patient)
		for i := range 2000 {
			name := fmt.Sprint("once", i)
			mustAcquire(t, s, name, session.Acquire{})
			mustRelease(t, s, name)
		}
		if n := len(placesAfter(t, p)); n == 0 || n > 1100 {
			t.Errorf("the next process is told of %d names, want about a thousand", n)
		}
	})
}

// A share that is only kept for its min_hold, and is of a hold before the one that the node has had
// since, is over, and in the journal no more.
func TestKeptOfAnEarlierHold(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := begin(t, memory.NewRows(), session.Config{})
		s, token := p.open(patient)
		l := mustAcquire(t, s, "x", session.Acquire{Shared: true})
		earlier := journal.Turn{
			Session: s.ID(), Thread: 9, Hold: 1, Fence: 2, Count: 1, TTL: 30 * time.Second, Mode: int(backend.Shared),
			KeepUntil: p.cfg.Clock() + time.Hour, Deadline: p.cfg.Clock() + time.Minute,
		}
		k := journal.Together("x", earlier.Fence)
		p.j.Told(k, earlier, nil)
		p.j.Kept(k, s.ID(), "u:9", nil)
		p = p.restart()
		if again, err := p.lookup(token).Lease("x", 1); err != nil || again.Fence() != l.Fence() {
			t.Errorf("the later hold is %v, %v", again, err)
		}
		if st, err := p.Inspect(t.Context(), "x"); err != nil || st.Holders != 1 {
			t.Errorf("%d holders, %v, want 1", st.Holders, err)
		}
		if places := placesAfter(t, p); places[k] != nil || places[journal.Together("x", uint64(l.Fence()))] == nil {
			t.Errorf("the next process is told of %v, want the later hold alone", places)
		}
	})
}
