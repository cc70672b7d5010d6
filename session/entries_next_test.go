package session_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend/memory"
	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/session/journal"
)

// Who enters a lock again while another request of the same owner gives it back changes nothing
// about the hold of the next one: neither now nor for the next process.
func TestReentryAtTheEndOfAHold(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(16)) // so that the system interrupts anywhere
	dir := t.TempDir()
	j, past, err := journal.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	store := memory.OpenTable(memory.NewRows(), past.Node)
	defer store.Close()
	m := session.New(store, session.Config{
		TTL: time.Hour, Journal: j, Past: past, KeepHolds: true, Limits: session.Limits{HoldsPerSession: 1 << 20, HoldsPerUser: 1 << 20},
	})
	stop := time.Now().Add(2 * time.Second)
	var pairs sync.WaitGroup
	for p := range 4 {
		pairs.Go(func() {
			first, second := openOn(t, m), openOn(t, m)
			for i := 0; time.Now().Before(stop); i++ {
				reenterAtTheEnd(t, first, second, fmt.Sprintf("x%d-%d", p, i))
			}
			for _, l := range second.Leases() {
				if v, err := l.View(); err != nil || v.Count != 1 {
					t.Errorf("%s has %d entries (%v), want 1", v.Name, v.Count, err)
				}
			}
		})
	}
	pairs.Wait()
	if err := m.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	_ = j.Close()
	j, past, err = journal.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	for k, p := range past.Places {
		if p.Turn != nil && p.Turn.Count != 1 {
			t.Errorf("the next process takes %s for entered %d times, want once", k.Name, p.Turn.Count)
		}
	}
}

func openOn(t *testing.T, m *session.Manager) *session.Session {
	s, _, err := m.Open(session.Options{Peer: session.NoPeer()})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// reenterAtTheEnd has first enter name again while it gives it back, and second wait for it, which
// has it then.
func reenterAtTheEnd(t *testing.T, first, second *session.Session, name string) {
	ctx := context.Background()
	l := mustAcquire(t, first, name, session.Acquire{})
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { mustAcquire(t, second, name, session.Acquire{Wait: 5 * time.Minute}) })
	for len(second.Waits()) == 0 {
		runtime.Gosched()
	}
	wg.Go(func() {
		for v, err := l.View(); err == nil && v.Count < 2; v, err = l.View() {
			runtime.Gosched()
		}
		_, _ = first.Release(ctx, name, 1, true, "")
	})
	_, _ = first.Acquire(ctx, name, session.Acquire{}) // or the other request was faster
	_, _ = first.Release(ctx, name, 1, true, "")
}
