package main

import (
	"context"
	"slices"
	"time"

	"github.com/lockgw/lockgw/session"
)

// watch reads the holds every so often, and when poked, until close. It sets no
// time limit, which would end the connection: whoever uses the readings notices
// when none come.
func (h *hold) watch(every time.Duration) {
	h.wg.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-h.poke:
			case <-h.quit:
				return
			}
			info, err := h.client.Session(context.Background())
			if err != nil {
				return // the connection or the session has ended, as gone or lost tell
			}
			select {
			case h.reads <- info.Holds:
			case <-h.quit:
				return
			}
		}
	})
}

// look asks for a reading now.
func (h *hold) look() {
	select {
	case h.poke <- struct{}{}:
	default:
	}
}

// earliest is when the first of the holds ends if nobody renews it; false if one
// of the names is not among them any more.
func earliest(names []string, holds []session.View) (time.Duration, bool) {
	var first time.Duration
	for _, name := range names {
		i := slices.IndexFunc(holds, func(v session.View) bool { return v.Name == name })
		if i < 0 {
			return 0, false
		}
		if first == 0 || holds[i].Deadline < first {
			first = holds[i].Deadline
		}
	}
	return first, true
}
