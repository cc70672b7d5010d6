package session_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/memory"
	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/session/journal"
)

// aDay runs a process with the embedded store on dir, from the beginning of a bubble's
// time on: for the next one the clock has gone back to there. It locks some names, and
// x first, and returns the fence of x. clean: it is stopped, else killed.
func aDay(t *testing.T, dir string, names int, clean bool) (fence backend.Fence) {
	idle, _, err := journal.Open(dir) // one process in between that locks nothing
	if err != nil {
		t.Fatal(err)
	}
	_ = idle.Close()
	bubble(t, func(t *testing.T) {
		j, past, err := journal.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		rows, clock := memory.NewRows(), fakeClock()
		rows.Clock = clock
		rows.Raise(backend.Fence(past.Fence))
		b := memory.OpenTable(rows, past.Node)
		m := session.New(b, session.Config{Clock: clock, Journal: j, Past: past})
		s, _, err := m.Open(session.Options{Peer: session.NoPeer()})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(24 * time.Hour)
		fence = mustAcquire(t, s, "x", session.Acquire{}).Fence()
		mustRelease(t, s, "x")
		for i := range names {
			name := fmt.Sprint("name-", i)
			mustAcquire(t, s, name, session.Acquire{})
			mustRelease(t, s, name)
		}
		if !clean {
			_ = j.Close() // what comes now, nobody hears of
		}
		if err := m.Close(context.Background()); err != nil {
			t.Error(err)
		}
		_, _ = b.Close(), j.Close()
	})
	return fence
}

// The embedded store ends with the process. A process that starts when the wall clock
// has gone back gives larger fences all the same, however the one before has ended and
// however many names were used since.
func TestFencesOverARestartWithAnEarlierClock(t *testing.T) {
	for _, clean := range []bool{true, false} {
		for _, names := range []int{0, 2000} {
			t.Run(fmt.Sprintf("clean %v, %d other names", clean, names), func(t *testing.T) {
				dir := t.TempDir()
				var last backend.Fence
				for range 3 {
					f := aDay(t, dir, names, clean)
					if f <= last {
						t.Errorf("fence %d after %d", f, last)
					}
					last = f
				}
			})
		}
	}
}

// No earlier fence is the newest again when the lease of a later hold has run out, whose gateway
// is gone and tells nothing.
func TestCheckAfterALeaseThatRanOut(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := begin(t, memory.NewRows(), session.Config{})
		c := newCluster(t, 0, session.Config{}, nil)
		b := memory.OpenTable(p.store, "other")
		m := session.New(b, session.Config{Clock: p.cfg.Clock})
		t.Cleanup(func() { _ = m.Close(context.Background()); _ = b.Close() })
		c.nodes = append(c.nodes, m)
		o := c.open(0)
		earlier := mustAcquire(t, o, "x", session.Acquire{}).Fence()
		s, _ := p.open(patient)
		later := wait(t, s, "x", session.Acquire{Wait: time.Minute})
		mustRelease(t, o, "x")
		fence := within(t, time.Second, later).Fence()
		p.kill()
		time.Sleep(31 * time.Second)
		wantCode(t, m.Check(t.Context(), "x", earlier), session.CodeFenceMismatch)
		if st, err := m.Inspect(t.Context(), "x"); err != nil || st.State != session.StateFree || st.Fence < fence {
			t.Errorf("%+v, %v, want it free and a fence of %d at least", st, err, fence)
		}
	})
}

// What a caller gave back while the store did not know of its fence is the newest still after a
// restart.
func TestCheckOverARestart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := begin(t, memory.NewRows(), session.Config{Fairness: session.Fairness{Retain: 10 * time.Second}})
		s, _ := p.open(patient)
		var fences []backend.Fence
		for range 3 {
			fences = append(fences, mustAcquire(t, s, "x", session.Acquire{}).Fence())
			mustRelease(t, s, "x")
		}
		p.kill()
		waits := memory.OpenTable(p.store, "waits") // or the name would be forgotten
		waits.Listen(func(ledger.Addressed) {})
		if _, err := waits.Join(t.Context(), "x", ledger.Entry{Node: "waits", Want: 1}, 0); err != nil {
			t.Fatal(err)
		}
		p = p.start()
		time.Sleep(time.Second)
		wantCode(t, p.Check(t.Context(), "x", fences[1]), session.CodeFenceMismatch)
		if err := p.Check(t.Context(), "x", fences[2]); err != nil {
			t.Errorf("check of the newest fence: %v", err)
		}
	})
}

// Who releases the hold that it has seen releases no later one.
func TestReleaseOfTheHoldThatWasSeen(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1, session.Config{}, nil)
		s := c.open(0)
		seen := mustAcquire(t, s, "x", session.Acquire{}).Fence()
		mustRelease(t, s, "x")
		l := mustAcquire(t, s, "x", session.Acquire{})
		_, err := s.ReleaseSeen(t.Context(), "x", 1, true, &seen, "")
		if wantCode(t, err, session.CodeFenceMismatch); !held(l) {
			t.Error("the later hold is released")
		}
		seen = l.Fence()
		if _, err := s.ReleaseSeen(t.Context(), "x", 1, true, &seen, ""); err != nil || held(l) {
			t.Errorf("the hold that was seen: %v", err)
		}
	})
}

// While the store gives no answer no fence passes, and no name is shown as free.
func TestCheckWithoutStore(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := &faulty{}
		c := newCluster(t, 2, session.Config{}, hooked(f))
		l := mustAcquire(t, c.open(1), "x", session.Acquire{})
		f.set(always(errLost), nil)
		for _, fence := range []backend.Fence{l.Fence(), l.Fence() + 1} {
			wantCode(t, c.nodes[0].Check(t.Context(), "x", fence), session.CodeUnavailable)
		}
		if st, err := c.nodes[0].Inspect(t.Context(), "x"); err != nil || st.State != session.StateUnknown {
			t.Errorf("it is %s, %v", st.State, err)
		}
		f.set(nil, nil)
	})
}
