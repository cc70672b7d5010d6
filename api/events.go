package api

import (
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
	return h.relay(c, s)
}

// relay sends the events of s until it ends or the client is gone.
func (h *Handler) relay(c *gin.Context, s *session.Session) error {
	sub := h.Manager.Subscribe(256, func(e session.Event) bool { return e.Session == s.ID() })
	defer sub.Close()
	if err := s.Err(); err != nil {
		return err // it ended before anybody listened
	}
	out := newStream(c)
	out.comment()
	tick := time.NewTicker(h.commentEvery)
	defer tick.Stop()
	for {
		select {
		case <-c.Request.Context().Done():
			return nil
		case <-tick.C:
			out.comment()
		case e, ok := <-sub.C:
			if !ok {
				return nil // too slow; the client comes back and asks for what there is
			}
			out.send(e.ID, e.Type, eventOf(e))
			if e.Type == session.EventSessionEnded {
				return nil
			}
		}
	}
}
