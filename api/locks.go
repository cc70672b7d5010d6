package api

import (
	"cmp"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/lockgw/lockgw/api/params"
	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/session/access"
)

func (h *Handler) release(c *gin.Context) error {
	var p struct {
		Thread params.Thread  `param:"thread"`
		All    params.Boolean `param:"all"`
		Force  params.Boolean `param:"force"`
		Owner  params.Owner   `param:"owner"`
	}
	name, err := lockQuery(c, &p)
	if err != nil {
		return err
	}
	switch {
	case bool(p.Force) && p.Thread != 0:
		return session.Invalid("thread", "does not go with force=true, which ends the hold of somebody else; owner says whose")
	case bool(p.Force):
		return h.forceRelease(c, name, backend.Owner(p.Owner))
	case p.Owner != "":
		return session.Invalid("owner", "goes with force=true only: the token says whose hold is released")
	}
	thread := int64(cmp.Or(p.Thread, 1))
	var seen *backend.Fence
	if len(c.Request.Header.Values("If-Match")) > 0 {
		fence, err := ifMatch(c.Request)
		if err != nil {
			return err
		}
		seen = &fence
	}
	key, err := idempotencyKey(c.Request)
	if err != nil {
		return err
	}
	s, err := h.giving(identityOf(c.Request.Context()), thread, name)
	if err != nil {
		return err
	}
	done, err := s.ReleaseSeen(c.Request.Context(), name, thread, bool(p.All), seen, key)
	if err != nil {
		return err
	}
	writeReleased(c.Writer, name, done)
	return nil
}

func writeReleased(w http.ResponseWriter, name string, r session.Released) {
	if r.Pending {
		writeJSON(w, http.StatusAccepted, releasing{name, "releasing", ceil(r.FreeBy, time.Millisecond)})
		return
	}
	writeJSON(w, http.StatusOK, released{name, r.Count == 0, r.Count})
}

type released struct {
	Name     string `json:"name"`
	Released bool   `json:"released"` // false: entries are left
	Count    int    `json:"count"`
}

type releasing struct {
	Name     string `json:"name,omitempty"`
	State    string `json:"state"`
	FreeByMS int64  `json:"free_by_ms"`
}

func (h *Handler) renew(c *gin.Context) error {
	name, err := lockName(c)
	if err != nil {
		return err
	}
	p := struct {
		Thread params.Thread   `param:"thread"`
		TTL    params.Positive `param:"ttl"`
	}{Thread: 1}
	if _, err := params.QueryOrBody(c.Request, &p); err != nil {
		return err
	}
	who := identityOf(c.Request.Context())
	s, err := who.session()
	if err != nil {
		return err
	}
	l, err := s.Renew(c.Request.Context(), name, int64(p.Thread), time.Duration(p.TTL))
	if err != nil {
		return err
	}
	return writeLock(c, http.StatusOK, l, who.token)
}

func (h *Handler) inspect(c *gin.Context) error {
	name, err := lockName(c)
	if err != nil {
		return err
	}
	if err := h.allow(identityOf(c.Request.Context()), access.Inspect, name); err != nil {
		return err
	}
	st, err := h.Manager.Inspect(c.Request.Context(), name)
	if err != nil {
		return err
	}
	fenceHeaders(c.Writer.Header(), st.Fence)
	writeJSON(c.Writer, http.StatusOK, statusOf(st))
	return nil
}

func (h *Handler) check(c *gin.Context) error {
	var p struct {
		Fence params.Fence `param:"fence"`
	}
	name, err := lockQuery(c, &p)
	if err != nil {
		return err
	}
	fence := backend.Fence(p.Fence)
	if fence == 0 {
		return session.Invalid("fence", "is missing: check?fence=N asks whether N is the newest grant")
	}
	if err := h.allow(identityOf(c.Request.Context()), access.Inspect, name); err != nil {
		return err
	}
	if err := h.Manager.Check(c.Request.Context(), name, fence); err != nil {
		return err
	}
	fenceHeaders(c.Writer.Header(), fence)
	writeJSON(c.Writer, http.StatusOK, struct {
		Name  string        `json:"name"`
		Fence backend.Fence `json:"fence"`
	}{name, fence})
	return nil
}
