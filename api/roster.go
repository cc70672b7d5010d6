package api

import (
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/session/access"
)

// summary is what an administrator is told of a session.
type summary struct {
	sessionInfo
	UID             *int         `json:"uid,omitempty"`
	Life            session.Life `json:"life"`                // what it lives by
	BoundPID        int          `json:"bound_pid,omitempty"` // the process, if that is it
	Connections     int          `json:"connections"`
	KeepaliveLeftMS *int64       `json:"keepalive_left_ms,omitempty"` // if nothing more is heard of it
	Holds           int          `json:"holds"`
	Locks           []string     `json:"locks"` // the first names of them
	Waits           int          `json:"waits"`
	Queues          []string     `json:"queues"` // likewise
}

func summaryOf(s session.Summary) summary {
	out := summary{
		sessionInfo: sessionInfo{
			ID: s.ID, UUID: s.UUID, Name: s.Name, Meta: s.Meta, Since: s.Since.UTC(),
			TTLMS: s.TTL.Milliseconds(), KeepaliveMS: s.Keepalive.Milliseconds(), MaxHoldMS: s.MaxHold.Milliseconds(),
			PID: s.Peer.PID, Command: s.Peer.Command,
		},
		Life: s.Life, BoundPID: s.Process, Connections: s.Conns,
		Holds: s.Holds, Locks: append([]string{}, s.Locks...), Waits: s.Waits, Queues: append([]string{}, s.Queues...),
	}
	if s.Peer.UID >= 0 {
		out.UID = &s.Peer.UID
	}
	if s.Keepalive > 0 {
		left := ceil(s.Left, time.Millisecond)
		out.KeepaliveLeftMS = &left
	}
	return out
}

// listSessions tells an administrator who has a session here. Who administers some
// names only is told of those and of the sessions that have to do with them.
func (h *Handler) listSessions(c *gin.Context) error {
	q := session.Query{}
	limit := int64(100)
	f := fields{"prefix": line(&q.Prefix, session.MaxNote), "cursor": line(&q.After, session.MaxName), "limit": integer(&limit, 1000)}
	if err := f.query(c.Request); err != nil {
		return err
	}
	by, _ := h.caller(c.Request)
	if err := h.Access.Restrict(by, &q); err != nil {
		return err
	}
	if err := h.allow(c.Request, access.Admin); err != nil {
		return err
	}
	q.Limit = int(limit)
	page, next := h.Manager.Sessions(q)
	items := make([]summary, 0, len(page))
	for _, s := range page {
		items = append(items, summaryOf(s))
	}
	writeJSON(c.Writer, http.StatusOK, struct {
		Items []summary `json:"items"`
		Next  string    `json:"next"`
	}{items, next})
	return nil
}

// killSession ends the session of somebody else, and with it holds of any name.
func (h *Handler) killSession(c *gin.Context) error {
	if err := (fields{}).query(c.Request); err != nil {
		return err
	}
	by, _ := h.caller(c.Request)
	if err := h.Access.May(by, access.Admin, ""); err != nil {
		return err
	}
	e, err := h.Manager.EndSession(c.Request.Context(), c.Param("id"), by.String())
	if session.CodeOf(err) == session.CodeNoSession { // nothing is wrong with who asks, as a 401 would say
		return refusal(codeNotFound, "this gateway has no session %s; it may have ended", quote(c.Param("id")))
	}
	if err != nil {
		return err
	}
	writeEnded(c.Writer, e)
	return nil
}

func writeEnded(w http.ResponseWriter, e session.Ended) {
	if e.Pending {
		writeJSON(w, http.StatusAccepted, releasing{State: "releasing", FreeByMS: ceil(e.FreeBy, time.Millisecond)})
		return
	}
	writeJSON(w, http.StatusOK, struct {
		Released []string `json:"released"`
	}{append([]string{}, e.Released...)})
}
