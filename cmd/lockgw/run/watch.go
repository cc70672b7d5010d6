package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/socket/client"
)

// redialAfter is how long a gateway that cannot be reached is left alone.
const redialAfter = 200 * time.Millisecond

// untilLost is ctx until one of the locks is lost: then the others are of no use.
func (h *hold) untilLost(ctx context.Context) (until context.Context, cancel func()) {
	until, end := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		select {
		case n := <-h.lost:
			h.notice(n) // for whoever looks next
			end()
		case <-until.Done():
		}
	})
	return until, func() { end(); wg.Wait() }
}

// isLost tells whether err is that a lock was lost.
func isLost(err error) bool {
	code, _ := cli.ExitCode(err)
	return code == cli.ExitLost
}

// watch reads the holds every so often, and when poked, until close or until
// they are over. A reading has no time limit: whoever uses the readings notices
// when none come.
func (h *hold) watch(every time.Duration) {
	h.wg.Go(func() {
		wait, down := every, h.down()
		for {
			select {
			case <-time.After(wait):
			case <-h.poke:
			case <-down:
			case <-h.ctx.Done():
				return
			}
			holds, err := h.read()
			switch {
			case h.ctx.Err() != nil:
				return
			case err == nil:
				wait, down = every, h.down()
			case !h.bound, errors.Is(err, client.ErrNoSession): // nobody renews any more
				h.over <- err
				return
			default:
				if down != nil {
					h.notice(client.Notice{Kind: client.Jeopardy, Lock: strings.Join(h.names(), " "), Reason: err.Error()})
				}
				wait, down = min(every, redialAfter), nil
				continue
			}
			select {
			case h.reads <- holds:
			case <-h.ctx.Done():
				return
			}
		}
	})
}

// read asks what is held. A session that outlives its connection is asked over
// the next one: the gateway may have been restarted.
func (h *hold) read() ([]client.Hold, error) {
	if g := h.gateway(); g == nil || g.Err() != nil {
		if !h.bound {
			return nil, fmt.Errorf("the connection to the gateway has ended, and the locks with it: %w", g.Err())
		}
		if err := h.dial(h.ctx); err != nil {
			return nil, err
		}
	}
	info, err := sessionOf(h.ctx, h.gateway())
	return info.Holds, err
}

// down is closed when there is no connection.
func (h *hold) down() <-chan struct{} {
	if g := h.gateway(); g != nil {
		return g.Done()
	}
	closed := make(chan struct{})
	close(closed)
	return closed
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
func earliest(names []string, holds []client.Hold) (time.Duration, bool) {
	var first time.Duration
	for _, name := range names {
		i := slices.IndexFunc(holds, func(v client.Hold) bool { return v.Name == name })
		if i < 0 {
			return 0, false
		}
		if first == 0 || holds[i].Deadline < first {
			first = holds[i].Deadline
		}
	}
	return first, true
}
