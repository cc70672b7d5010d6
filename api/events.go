package api

import (
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/session/events"
)

// eventBuffer is how many events a client may fall behind. A client that is cut off comes
// back with the id of the last event that it has seen.
const eventBuffer = 256

// sessionEvents tells what happens to the holds of the session until it ends: from
// now on, or from the event on that the client says it has seen last.
func (h *Handler) sessionEvents(c *gin.Context) error {
	s, err := identityOf(c.Request.Context()).session()
	if err != nil {
		return err
	}
	return h.relay(c, s, func(session.Event) bool { return true })
}

// keptForNext tells whether the session goes on in the next process: only this one ends.
func keptForNext(s *session.Session) bool { return session.CodeOf(s.Err()) == session.CodeDraining }

// relay sends the events of s that the client may see until s ends or the client is
// gone; nil: of all sessions.
func (h *Handler) relay(c *gin.Context, s *session.Session, sees func(session.Event) bool) error {
	var id string
	ended := h.Manager.Draining()
	if s != nil {
		id, ended = s.ID(), s.Done()
	}
	sub, missed, complete, err := h.listen(c.Request, id)
	if err != nil {
		return err
	}
	defer sub.Close()
	if s != nil && s.Err() != nil {
		return s.Err() // it ended before anybody listened
	}
	out := newStream(c)
	out.comment(keepalive)
	if c.Request.Method == http.MethodHead {
		return nil // the headers are all there is to send
	}
	if !complete {
		out.comment(incomplete)
	}
	for _, e := range missed {
		if sees(e) {
			out.send(e.ID, e.Type, eventOf(e))
		}
	}
	tick := time.NewTicker(h.commentEvery)
	defer tick.Stop()
	for {
		select {
		case <-c.Request.Context().Done():
			return nil
		case <-ended:
			if ended = nil; s == nil || keptForNext(s) {
				return nil
			}
		case <-tick.C:
			out.comment(keepalive)
		case e, ok := <-sub.C:
			if !ok {
				return nil // too slow
			}
			if sees(*e) {
				out.send(e.ID, e.Type, eventOf(*e))
			}
			if s != nil && e.Type == session.EventSessionEnded {
				return nil
			}
		}
	}
}

// listen subscribes to the session with that ID, and says what a client that comes
// back has missed. An id that this process has not given out is that of an older
// one: it must not hide what has happened since.
func (h *Handler) listen(r *http.Request, id string) (sub *session.Subscription, missed []session.Event, complete bool, err error) {
	values := r.Header.Values("Last-Event-ID")
	switch {
	case len(values) > 1:
		return nil, nil, false, session.Invalid("Last-Event-ID", "was sent more than once")
	case len(values) == 0 || values[0] == "": // an EventSource that has not seen any event
		return h.Manager.Follow(id, eventBuffer, func(session.Event) bool { return true }), nil, true, nil
	}
	seen, err := events.ParseID(values[0])
	if err != nil {
		seen = events.ID{}
	}
	sub, missed, complete = h.Manager.Resume(id, eventBuffer, seen)
	return sub, missed, complete, nil
}
