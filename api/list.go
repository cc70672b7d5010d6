package api

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/lockgw/lockgw/api/params"
	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/session/access"
	"github.com/lockgw/lockgw/session/listing"
)

// statusPage is a part of a list.
type statusPage struct {
	Items      []status `json:"items"`
	Next       string   `json:"next"`
	Counts     counts   `json:"counts"`
	Incomplete string   `json:"incomplete,omitempty"` // why names are missing
}

// counts are of all that the request asks for, on this page or not.
type counts struct {
	Locks   int  `json:"locks"`
	Held    int  `json:"held"`
	Waiting int  `json:"waiting"`
	AtLeast bool `json:"at_least"` // there may be more
}

// defaultPage is how many items a page of a list has.
const defaultPage = 100

// listLocks leaves out the names that the caller may not look at, in the counts too.
func (h *Handler) listLocks(c *gin.Context) error {
	p := struct {
		Prefix   params.Name     `param:"prefix"`
		Contains params.Name     `param:"contains"`
		State    params.State    `param:"state"`
		Sort     params.Sort     `param:"sort"`
		Order    params.Order    `param:"order"`
		Cursor   params.Cursor   `param:"cursor"`
		Limit    params.PageSize `param:"limit"`
	}{Limit: defaultPage}
	if err := params.Query(c.Request, &p); err != nil {
		return err
	}
	who := identityOf(c.Request.Context())
	if err := h.allow(who, access.Inspect); err != nil {
		return err
	}
	found, err := h.Lists.List(c.Request.Context(), listing.Query{
		Prefix: string(p.Prefix), Contains: string(p.Contains), State: session.State(p.State),
		Sort: listing.Order(p.Sort), Order: string(p.Order), Cursor: string(p.Cursor), Limit: int(p.Limit),
		Sees: func(name string) bool { return h.Access.Sees(who.caller, access.Inspect, name) },
	})
	if err != nil {
		return err
	}
	page := statusPage{
		Items: make([]status, len(found.Items)), Next: found.Next, Incomplete: found.Incomplete, Counts: counts(found.Counts),
	}
	for i, st := range found.Items {
		page.Items[i] = statusOf(st)
	}
	writeJSON(c.Writer, http.StatusOK, page)
	return nil
}
