package restarts

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"
)

// A gateway that is stopped, and keeps what is held, tells nobody that the session has
// ended: the next process has it. Whoever asks in the middle of it is told to ask again.
func TestStopEndsNoSession(t *testing.T) {
	g := lone(t, "memory://")
	d, want := mustHold(t, g, "x", `{"keepalive":"1h"}`)
	ctx, cancel := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	for range 4 {
		clients.Go(func() {
			for ctx.Err() == nil {
				held, err := d.locks(ctx)
				var no *refusal
				if errors.As(err, &no) || err == nil && (len(held) != 1 || held[0].Fence != want.Fence) {
					t.Errorf("holds %+v, %v, want fence %d", held, err, want.Fence)
					return
				}
			}
		})
	}
	for range 10 {
		time.Sleep(20 * time.Millisecond)
		if err := g.Stop(); err != nil {
			t.Fatal(err)
		}
		g.mustStart(t)
	}
	cancel()
	clients.Wait()
}
