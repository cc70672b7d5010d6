package api

import (
	"math"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/session/access"
)

func (h *Handler) release(c *gin.Context) error {
	name, err := lockName(c)
	if err != nil {
		return err
	}
	var all, force bool
	thread := int64(1)
	f := fields{"thread": integer(&thread, math.MaxInt64), "all": boolean(&all), "force": boolean(&force)}
	if err := f.query(c.Request); err != nil {
		return err
	}
	if force {
		return h.forceRelease(c, name)
	}
	key, err := idempotencyKey(c.Request)
	if err != nil {
		return err
	}
	s, _, err := h.session(c.Request)
	if err != nil {
		return err
	}
	done, err := s.Release(c.Request.Context(), name, thread, all, key)
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
	var ttl time.Duration
	thread := int64(1)
	f := fields{"thread": integer(&thread, math.MaxInt64), "ttl": positive(&ttl)}
	if _, err := f.queryOrBody(c.Request); err != nil {
		return err
	}
	s, token, err := h.session(c.Request)
	if err != nil {
		return err
	}
	l, err := s.Renew(c.Request.Context(), name, thread, ttl)
	if err != nil {
		return err
	}
	return writeLock(c, http.StatusOK, l, token)
}

func (h *Handler) inspect(c *gin.Context) error {
	name, err := lockName(c)
	if err != nil {
		return err
	}
	if err := (fields{}).query(c.Request); err != nil {
		return err
	}
	if err := h.allow(c.Request, access.Inspect, name); err != nil {
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
	name, err := lockName(c)
	if err != nil {
		return err
	}
	var fence int64
	const most = 1<<53 - 1 // see backend.Fence
	if err := (fields{"fence": integer(&fence, most)}).query(c.Request); err != nil {
		return err
	}
	if fence == 0 {
		return session.Invalid("fence", "is missing: check?fence=N asks whether N is the newest grant")
	}
	if err := h.allow(c.Request, access.Inspect, name); err != nil {
		return err
	}
	if err := h.Manager.Check(c.Request.Context(), name, backend.Fence(fence)); err != nil {
		return err
	}
	fenceHeaders(c.Writer.Header(), backend.Fence(fence))
	writeJSON(c.Writer, http.StatusOK, struct {
		Name  string `json:"name"`
		Fence int64  `json:"fence"`
	}{name, fence})
	return nil
}
