package api

import (
	"cmp"
	"math"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/session/access"
)

// sessionInfo is what a session is told of itself. Durations of 0 are left out:
// there is no such bound.
type sessionInfo struct {
	ID          string            `json:"id"`
	Token       string            `json:"token,omitempty"` // only when it is opened
	UUID        string            `json:"uuid"`
	Name        string            `json:"name,omitempty"`
	Meta        map[string]string `json:"meta,omitempty"`
	Since       time.Time         `json:"since"`
	TTLMS       int64             `json:"ttl_ms,omitempty"`
	KeepaliveMS int64             `json:"keepalive_ms,omitempty"`
	MaxHoldMS   int64             `json:"max_hold_ms,omitempty"`
	PID         int               `json:"pid,omitempty"` // of the client, over a Unix socket
	Command     string            `json:"command,omitempty"`
}

// queue is a name that the session waits for.
type queue struct {
	Name     string    `json:"name"`
	Thread   int64     `json:"thread"`
	Since    time.Time `json:"since"`
	WaitedMS int64     `json:"waited_ms"`
}

func infoOf(s *session.Session) sessionInfo {
	o := s.Options()
	return sessionInfo{
		ID: s.ID(), UUID: s.UUID(), Name: o.Name, Meta: o.Meta, Since: s.Since().UTC(),
		TTLMS: o.TTL.Milliseconds(), KeepaliveMS: o.Keepalive.Milliseconds(), MaxHoldMS: o.MaxHold.Milliseconds(),
		PID: o.Peer.PID, Command: o.Peer.Command,
	}
}

func (h *Handler) openSession(c *gin.Context) error {
	o := session.Options{Peer: originOf(c.Request.Context()).peer}
	var pid int64
	f := fields{
		"ttl": positive(&o.TTL), "keepalive": positive(&o.Keepalive), "max_hold": positive(&o.MaxHold),
		"bind": object(fields{"pid": integer(&pid, math.MaxInt32)}),
		"name": line(&o.Name, session.MaxNote), "meta": lines(&o.Meta),
	}
	if err := f.body(c.Request); err != nil {
		return err
	}
	if pid != 0 {
		if err := h.bind(c.Request, &o, pid); err != nil {
			return err
		}
	} else {
		o.Keepalive = cmp.Or(o.Keepalive, h.Manager.Config().Session.Keepalive)
	}
	if err := h.sign(c.Request, &o); err != nil {
		return err
	}
	if err := h.allow(c.Request, access.Lock); err != nil {
		return err
	}
	s, token, err := h.Manager.Open(o)
	if err != nil {
		return err
	}
	info := infoOf(s)
	info.Token = token.Secret()
	c.Header("Location", "/v1/sessions/self")
	writeJSON(c.Writer, http.StatusCreated, info)
	return nil
}

func (h *Handler) showSession(c *gin.Context) error {
	s, err := h.self(c)
	if err != nil {
		return err
	}
	answer := struct {
		sessionInfo
		Locks  []lock  `json:"locks"`
		Queues []queue `json:"queues"`
	}{infoOf(s), []lock{}, []queue{}}
	for _, w := range s.Waits() {
		answer.Queues = append(answer.Queues, queue{w.Name, w.Thread, w.Since.UTC(), time.Since(w.Since).Milliseconds()})
	}
	o := originOf(c.Request.Context())
	for _, l := range s.Leases() {
		if v, err := l.View(); err == nil {
			answer.Locks = append(answer.Locks, lockOf(v, "", o))
		}
	}
	writeJSON(c.Writer, http.StatusOK, answer)
	return nil
}

// self is the session of a request that has no parameters.
func (h *Handler) self(c *gin.Context) (*session.Session, error) {
	if err := (fields{}).query(c.Request); err != nil {
		return nil, err
	}
	s, _, err := h.session(c.Request)
	return s, err
}

// keepalive: finding the session was the sign of life.
func (h *Handler) keepalive(c *gin.Context) error {
	s, err := h.self(c)
	if err != nil {
		return err
	}
	writeJSON(c.Writer, http.StatusOK, infoOf(s))
	return nil
}

func (h *Handler) endSession(c *gin.Context) error {
	s, err := h.self(c)
	if err != nil {
		return err
	}
	writeEnded(c.Writer, s.End(c.Request.Context(), "ended by its client"))
	return nil
}
