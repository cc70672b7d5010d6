package interop

import (
	"testing"
	"time"
)

// watchMachine says when the machine stood still, which explains a case that
// has failed by time.
func watchMachine(t *testing.T) {
	const period, long = 10 * time.Millisecond, 250 * time.Millisecond
	ticker := time.NewTicker(period)
	last := time.Now()
	done := make(chan struct{})
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-done:
				return
			case now := <-ticker.C:
				if gap := time.Since(last); gap > long {
					t.Logf("the machine stood still for %v until %s", gap.Round(time.Millisecond), now.Format("15:04:05.000"))
				}
				last = time.Now()
			}
		}
	}()
	t.Cleanup(func() {
		ticker.Stop()
		close(done)
		<-stopped
	})
}
