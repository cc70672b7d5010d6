package api

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/lockgw/lockgw/api/params"
	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/session/access"
)

// statusPage is a part of a list.
type statusPage struct {
	Items      []status `json:"items"`
	Next       string   `json:"next"`
	Incomplete string   `json:"incomplete,omitempty"` // why names are missing
}

// defaultPage is how many items a page of a list has.
const defaultPage = 100

// listLocks leaves out the names that the caller may not look at.
func (h *Handler) listLocks(c *gin.Context) error {
	p := struct {
		Prefix params.Name     `param:"prefix"`
		State  params.State    `param:"state"`
		Cursor params.Cursor   `param:"cursor"`
		Limit  params.PageSize `param:"limit"`
	}{Limit: defaultPage}
	if err := params.Query(c.Request, &p); err != nil {
		return err
	}
	who := identityOf(c.Request.Context())
	if err := h.allow(who, access.Inspect); err != nil {
		return err
	}
	cursor, err := h.cursors.open(string(p.Cursor))
	if err != nil {
		return err
	}
	found, err := h.Manager.List(c.Request.Context(), string(p.Prefix), session.State(p.State), cursor, int(p.Limit))
	if err != nil {
		return err
	}
	page := statusPage{Items: make([]status, 0, len(found.Items)), Next: found.Next, Incomplete: found.Incomplete}
	for _, st := range found.Items {
		if h.Access.Sees(who.caller, access.Inspect, st.Name) {
			page.Items = append(page.Items, statusOf(st))
		}
	}
	if !h.Access.Sees(who.caller, access.Inspect, found.Next) {
		page.Next = h.cursors.seal(found.Next)
	}
	writeJSON(c.Writer, http.StatusOK, page)
	return nil
}
