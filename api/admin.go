package api

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/session/access"
)

// forceRelease ends the hold of somebody else, of owner if that is not "".
func (h *Handler) forceRelease(c *gin.Context, name string, owner backend.Owner) error {
	by := identityOf(c.Request.Context()).caller
	if err := h.Access.May(by, access.Admin, name); err != nil {
		return err
	}
	fence, err := ifMatch(c.Request)
	if err != nil {
		return err
	}
	if err := h.Manager.Break(c.Request.Context(), name, fence, owner, by.String()); err != nil {
		return err
	}
	writeJSON(c.Writer, http.StatusOK, released{Name: name, Released: true})
	return nil
}

// ifMatch is the fence that the client has seen; the ETag of a lock is its fence.
func ifMatch(r *http.Request) (backend.Fence, error) {
	values := r.Header.Values("If-Match")
	if len(values) != 1 {
		return 0, session.Invalid("If-Match", `must say once which fence you have seen, as in If-Match: "17"`)
	}
	text, opened := strings.CutPrefix(values[0], `"`)
	text, closed := strings.CutSuffix(text, `"`)
	n, err := strconv.ParseUint(text, 10, 53)
	if err != nil || !opened || !closed {
		return 0, session.Invalid("If-Match", `%s is no fence in quotes, as in If-Match: "17"`, session.Quote(values[0]))
	}
	return backend.Fence(n), nil
}

// allEvents tells an administrator what happens to the locks of this node that it
// administers.
func (h *Handler) allEvents(c *gin.Context) error {
	by := identityOf(c.Request.Context()).caller
	if !h.Access.Some(by, access.Admin) {
		return h.Access.May(by, access.Admin, "")
	}
	return h.relay(c, nil, func(e session.Event) bool { return h.Access.Sees(by, access.Admin, e.Lock) })
}

// reload reads the configuration again. Nothing changes if anything is wrong with it.
func (h *Handler) reload(c *gin.Context) error {
	by := identityOf(c.Request.Context()).caller
	if err := h.Access.May(by, access.Admin, ""); err != nil {
		return err
	}
	if h.Reload == nil {
		return refusal(session.CodeUnsupported, "this gateway cannot be told to read its configuration again")
	}
	restart, err := h.Reload()
	if err != nil {
		return session.Invalid("configuration", "%v", err)
	}
	writeJSON(c.Writer, http.StatusOK, struct {
		NeedsRestart []string `json:"needs_restart"` // keys whose new value is not in force
	}{append([]string{}, restart...)})
	return nil
}

// examine tells an administrator what this gateway finds out about its store and its machine.
func (h *Handler) examine(c *gin.Context) error {
	by := identityOf(c.Request.Context()).caller
	if err := h.Access.May(by, access.Admin, ""); err != nil {
		return err
	}
	if h.Examine == nil {
		return refusal(session.CodeUnsupported, "this gateway cannot be told to examine itself")
	}
	writeJSON(c.Writer, http.StatusOK, h.Examine(c.Request.Context()))
	return nil
}
