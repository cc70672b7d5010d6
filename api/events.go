package api

import (
	"context"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/lockgw/lockgw/session"
)

// sessionEvents tells what happens to the holds of the session, from now on, until
// it ends.
func (h *Handler) sessionEvents(c *gin.Context) error {
	s, err := h.self(c)
	if err != nil {
		return err
	}
	sub := h.Manager.Subscribe(256, func(e session.Event) bool { return e.Session == s.ID() })
	defer sub.Close()
	if err := s.Err(); err != nil {
		return err // it ended before anybody listened
	}
	out := newStream(c)
	out.comment()
	relay(c.Request.Context(), out, sub.C)
	return nil
}

func relay(ctx context.Context, out *stream, events <-chan session.Event) {
	tick := time.NewTicker(commentEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			out.comment()
		case e, ok := <-events:
			if !ok {
				return // too slow; the client comes back and asks for what there is
			}
			out.send(e.ID, e.Type, eventOf(e))
			if e.Type == session.EventSessionEnded {
				return
			}
		}
	}
}
