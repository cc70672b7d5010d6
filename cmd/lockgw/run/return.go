package run

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/socket/client"
)

// restartPatience is how long a run that waits for a lock waits for its gateway to come
// back, which an upgrade takes seconds of.
const restartPatience = time.Minute

// wentAway tells whether err means that the gateway was stopped or is being restarted while
// this run waited, and may come back.
func (h *hold) wentAway(ctx context.Context, err error) bool {
	g := h.gateway()
	return ctx.Err() == nil && !h.o.noWait && (errors.Is(err, client.ErrDraining) || g != nil && g.Err() != nil)
}

// rejoin waits for the gateway to come back, and for a session there. cause is why it went,
// and the error if it does not come back within the wait. One that is back and refuses is not away.
func (h *hold) rejoin(ctx context.Context, r *report, start time.Time, cause error) error {
	patience := restartPatience
	if !h.o.forever {
		patience = min(patience, h.o.wait-time.Since(start))
	}
	if patience <= 0 {
		return cause
	}
	if !h.away {
		r.say(may, event{Event: "gateway_away", Error: cause.Error()}, "the gateway was stopped or is being restarted; waiting for it to come back")
	}
	h.away = true
	var refused error // the last time
	for until := time.Now().Add(patience); time.Now().Before(until); {
		select {
		case <-time.After(redialAfter):
		case <-ctx.Done():
			return ctx.Err()
		}
		if g := h.gateway(); g != nil {
			_ = g.Close()
		}
		switch err := h.join(ctx); {
		case err == nil:
			return nil
		case errors.Is(err, client.ErrNoSession): // and what was locked before is lost
			return err
		case !unavailable(err):
			refused = err
		default:
			refused = nil
		}
	}
	return cmp.Or(refused, cause)
}

// join joins the session again, or opens a new one if that is gone and holds nothing. While
// none has been opened, as where the gateway went away in the middle of it, h has no token.
func (h *hold) join(ctx context.Context) error {
	err := client.ErrNoSession
	if h.token != "" {
		err = h.dial(ctx)
	}
	if !errors.Is(err, client.ErrNoSession) || len(h.views) > 0 {
		return err
	}
	h.token, h.bound = "", false
	if err = h.connect(ctx, h.guardian); err != nil {
		h.token, h.bound = "", false
	}
	return err
}

// unavailable tells whether the gateway or its store is down. A socket that this user may not
// use does not count, nor one that is no gateway's: --on-unavailable must not hide that.
func unavailable(err error) bool {
	code, _ := cli.ExitCode(err)
	return code == cli.ExitUnavailable && !errors.Is(err, fs.ErrPermission)
}
