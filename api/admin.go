package api

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/session"
)

// admin says who asks, if it is an administrator.
func (h *Handler) admin(r *http.Request) (who string, err error) {
	token, err := bearer(r)
	if err != nil {
		return "", err
	}
	if h.Admin != nil {
		if who, ok := h.Admin(originOf(r.Context()).peer, token.Secret()); ok {
			return who, nil
		}
	}
	return "", refusal(codeForbidden,
		"only an administrator may: send the admin token as Authorization: Bearer, or use the Unix socket as root or as the gateway's own user")
}

// forceRelease ends the hold of somebody else.
func (h *Handler) forceRelease(c *gin.Context, name string) error {
	who, err := h.admin(c.Request)
	if err != nil {
		return err
	}
	fence, err := ifMatch(c.Request)
	if err != nil {
		return err
	}
	if err := h.Manager.Break(c.Request.Context(), name, fence, who); err != nil {
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
		return 0, session.Invalid("If-Match", `%s is no fence in quotes, as in If-Match: "17"`, quote(values[0]))
	}
	return backend.Fence(n), nil
}

// allEvents tells an administrator what happens to all locks of this node.
func (h *Handler) allEvents(c *gin.Context) error {
	if err := (fields{}).query(c.Request); err != nil {
		return err
	}
	if _, err := h.admin(c.Request); err != nil {
		return err
	}
	return h.relay(c, nil)
}
