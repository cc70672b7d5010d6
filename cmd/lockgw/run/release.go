package run

import (
	"context"
	"errors"
	"os"
	"slices"
	"time"

	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/socket/client"
)

// releaseTimeout bounds how long the end of a command waits for its locks to be
// given back. The gateway goes on with it afterwards.
const releaseTimeout = 10 * time.Second

// release gives the locks back in the reverse order. The command has run, so an error is
// reported and does not change the exit code.
func (h *hold) release(r *report) {
	ctx, cancel := context.WithTimeout(context.Background(), releaseTimeout)
	defer cancel()
	if h.bound { // otherwise the locks live by the connection, which ends with a call that is cut short
		h.quit()
		h.wg.Wait() // watch may be about to connect
		if g := h.gateway(); g == nil || g.Err() != nil {
			_ = h.dial(ctx) // the session has outlived the connection; what is wrong is told below
		}
	}
	for _, name := range slices.Backward(h.names()) {
		_, err := h.gateway().Unlock(ctx, name, client.UnlockOptions{All: true})
		switch {
		case err == nil:
			if r.json { // to people it goes without saying
				r.say(may, event{Event: "released", Lock: name}, "%s", name)
			}
		case errors.Is(err, client.ErrLost), errors.Is(err, client.ErrNotHeld):
			r.say(must, event{Event: "lost", Lock: name, Error: err.Error()}, "%s was lost before the command ended: %v", name, err)
		default:
			r.say(must, event{Event: "releasing", Lock: name, Error: err.Error()}, "%s may stay locked for the rest of its lease: %v", name, err)
		}
	}
}

// keep holds on until the locks were held for d, or until a signal asks for the end. The others
// were for the command.
func (h *hold) keep(d time.Duration, signals <-chan os.Signal) {
	rest := h.since + d - session.Boottime()
	if rest <= 0 {
		return
	}
	t := time.NewTimer(rest)
	defer t.Stop()
	for {
		select {
		case <-t.C:
		case sig := <-signals:
			if !slices.Contains(endSignals, sig) {
				continue
			}
		case <-h.lost:
		case why := <-h.over:
			h.over <- why // for whoever looks next
		}
		return
	}
}
