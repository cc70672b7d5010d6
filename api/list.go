package api

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/session/access"
)

// statusPage is a part of a list.
type statusPage struct {
	Items      []status `json:"items"`
	Next       string   `json:"next"`
	Incomplete string   `json:"incomplete,omitempty"` // why names are missing
}

// listLocks leaves out the names that the caller may not look at.
func (h *Handler) listLocks(c *gin.Context) error {
	var prefix, state, cursor string
	limit := int64(100)
	f := fields{
		"prefix": line(&prefix, session.MaxName), "cursor": line(&cursor, maxURL), "limit": integer(&limit, 1000),
		"state": oneOf(&state, string(session.StateHeld), string(session.StateFree)),
	}
	if err := f.query(c.Request); err != nil {
		return err
	}
	if err := h.allow(c.Request, access.Inspect); err != nil {
		return err
	}
	cursor, err := h.cursors.open(cursor)
	if err != nil {
		return err
	}
	found, err := h.Manager.List(c.Request.Context(), prefix, session.State(state), cursor, int(limit))
	if err != nil {
		return err
	}
	by, _ := h.caller(c.Request)
	page := statusPage{Items: make([]status, 0, len(found.Items)), Next: found.Next, Incomplete: found.Incomplete}
	for _, st := range found.Items {
		if h.Access.Sees(by, access.Inspect, st.Name) {
			page.Items = append(page.Items, statusOf(st))
		}
	}
	if !h.Access.Sees(by, access.Inspect, found.Next) {
		page.Next = h.cursors.seal(found.Next)
	}
	writeJSON(c.Writer, http.StatusOK, page)
	return nil
}
