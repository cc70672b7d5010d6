package api

import (
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/lockgw/lockgw/api/params"
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
		UID: uidOf(s.Peer.UID), Life: s.Life, BoundPID: s.Process, Connections: s.Conns,
		Holds: s.Holds, Locks: append([]string{}, s.Locks...), Waits: s.Waits, Queues: append([]string{}, s.Queues...),
	}
	if s.Keepalive > 0 {
		left := ceil(s.Left, time.Millisecond)
		out.KeepaliveLeftMS = &left
	}
	return out
}

// listSessions tells an administrator who has a session here. An administrator of some names
// sees these names, and the sessions that hold them or wait for them.
func (h *Handler) listSessions(c *gin.Context) error {
	p := struct {
		Prefix params.Note     `param:"prefix"`
		Cursor params.Name     `param:"cursor"`
		Limit  params.PageSize `param:"limit"`
	}{Limit: defaultPage}
	if err := params.Query(c.Request, &p); err != nil {
		return err
	}
	who := identityOf(c.Request.Context())
	q := session.Query{Prefix: string(p.Prefix), After: string(p.Cursor), Limit: int(p.Limit)}
	if err := h.Access.Restrict(who.caller, &q); err != nil {
		return err
	}
	if err := h.allow(who, access.Admin); err != nil {
		return err
	}
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
	by := identityOf(c.Request.Context()).caller
	if err := h.Access.May(by, access.Admin, ""); err != nil {
		return err
	}
	e, err := h.Manager.EndSession(c.Request.Context(), c.Param("id"), by.String())
	if session.CodeOf(err) == session.CodeNoSession { // nothing is wrong with who asks, as a 401 would say
		return refusal(codeNotFound, "this gateway has no session %s; it may have ended", session.Quote(c.Param("id")))
	}
	if err != nil {
		return err
	}
	writeEnded(c.Writer, e)
	return nil
}

// killUser ends all sessions of a user.
func (h *Handler) killUser(c *gin.Context) error {
	var p struct {
		User params.Note `param:"user"`
	}
	if err := params.Query(c.Request, &p); err != nil {
		return err
	}
	by := identityOf(c.Request.Context()).caller
	if err := h.Access.May(by, access.Admin, ""); err != nil {
		return err
	}
	user, err := session.ParseUser(string(p.User)) // one has to be named
	if err != nil {
		return err
	}
	e := h.Manager.EndUser(c.Request.Context(), user, by.String())
	if e.Pending {
		writeEnded(c.Writer, e.Ended)
		return nil
	}
	writeJSON(c.Writer, http.StatusOK, struct {
		Sessions int      `json:"sessions"`
		Released []string `json:"released"`
	}{e.Sessions, append([]string{}, e.Released...)})
	return nil
}

// writeEnded answers with the names that were given back together.
func writeEnded(w http.ResponseWriter, e session.Ended) {
	if e.Pending {
		writeJSON(w, http.StatusAccepted, releasing{State: "releasing", FreeByMS: ceil(e.FreeBy, time.Millisecond)})
		return
	}
	writeJSON(w, http.StatusOK, struct {
		Released []string `json:"released"`
	}{append([]string{}, e.Released...)})
}
