package session_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/lockgw/lockgw/session"
)

// A release meets the end of its hold, by the clock of the machine: whichever
// comes first, the holder is told of one end, once, and it is the one that the
// release was answered with.
func TestReleaseMeetsLoss(t *testing.T) {
	const holds, lasts = 400, 30 * time.Millisecond
	for name, a := range map[string]session.Acquire{
		"max_hold": {MaxHold: lasts},
		"lease":    {TTL: lasts + 50*time.Millisecond, Fixed: true}, // less the margin
	} {
		t.Run(name, func(t *testing.T) {
			cfg := session.Config{Clock: session.Boottime, Limits: session.Limits{MinTTL: time.Millisecond}}
			c := newCluster(t, 1, cfg, nil)
			sub := c.nodes[0].Subscribe(16*holds, func(session.Event) bool { return true })
			inTime := raceReleases(c, holds, lasts, a)
			sub.Close() // each release was answered, so every hold is over
			told := map[session.EventType]map[string]int{session.EventReleased: {}, session.EventLost: {}}
			for e := range sub.C {
				if told[e.Type] != nil {
					told[e.Type][e.Lock]++
				}
			}
			for name, released := range inTime {
				want := [2]int{0, 1}
				if released {
					want = [2]int{1, 0}
				}
				if got := [2]int{told[session.EventReleased][name], told[session.EventLost][name]}; got != want {
					t.Errorf("%s, released in time %v: told released, lost %v times, want %v", name, released, got, want)
				}
			}
		})
	}
}

// raceReleases acquires names and releases each when it is about to end, spread
// over 2 ms on either side. It returns which were released in time.
func raceReleases(c *cluster, holds int, lasts time.Duration, a session.Acquire) map[string]bool {
	a.Wait = 10 * time.Second // a lease as short as this may be over before it is told
	var mu sync.Mutex
	inTime := map[string]bool{}
	var wg sync.WaitGroup
	for i := range holds {
		wg.Go(func() {
			s, name := c.open(0), fmt.Sprintf("x%d", i)
			if _, err := s.Acquire(c.t.Context(), name, a); err != nil {
				c.t.Errorf("acquire %s: %v", name, err)
				return
			}
			time.Sleep(lasts + time.Duration(i%41-20)*100*time.Microsecond)
			_, err := s.Release(c.t.Context(), name, 1, false, "")
			if err != nil && session.CodeOf(err) != session.CodeLost {
				c.t.Errorf("release %s: %v", name, err)
			}
			mu.Lock()
			defer mu.Unlock()
			inTime[name] = err == nil
		})
	}
	wg.Wait()
	return inTime
}
