package backend

import (
	"context"
	"time"
)

// Wait waits for so long; false: ctx was over before.
func Wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// Signal has c, which has room for one element, have one: whoever waits for it goes on, or who
// does so next.
func Signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
