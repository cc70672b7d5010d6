package api

import (
	"cmp"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/lockgw/lockgw/api/params"
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
	var p struct {
		TTL       params.Positive `param:"ttl"`
		Keepalive params.Positive `param:"keepalive"`
		MaxHold   params.Positive `param:"max_hold"`
		Bind      params.Process  `param:"bind"`
		Name      params.Note     `param:"name"`
		Meta      params.Meta     `param:"meta"`
	}
	if err := params.Body(c.Request, &p); err != nil {
		return err
	}
	who := identityOf(c.Request.Context())
	if err := h.allow(who, access.Lock); err != nil { // before a process is looked at
		return err
	}
	o := session.Options{
		Peer: who.peer, Account: who.account(), TTL: time.Duration(p.TTL), Keepalive: time.Duration(p.Keepalive), MaxHold: time.Duration(p.MaxHold),
		Name: string(p.Name), Meta: p.Meta,
	}
	if p.Bind != 0 {
		if err := h.bind(who, &o, int(p.Bind)); err != nil {
			return err
		}
	} else {
		o.Keepalive = cmp.Or(o.Keepalive, h.Manager.Config().Session.Keepalive)
	}
	if err := h.sign(who, &o); err != nil {
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
	who := identityOf(c.Request.Context())
	s, err := who.session()
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
	views, err := s.Views()
	if err != nil {
		return err
	}
	for _, v := range views {
		answer.Locks = append(answer.Locks, lockOf(v, "", who))
	}
	writeJSON(c.Writer, http.StatusOK, answer)
	return nil
}

// keepalive: finding the session was the sign of life.
func (h *Handler) keepalive(c *gin.Context) error {
	s, err := identityOf(c.Request.Context()).session()
	if err != nil {
		return err
	}
	writeJSON(c.Writer, http.StatusOK, infoOf(s))
	return nil
}

func (h *Handler) endSession(c *gin.Context) error {
	s, err := identityOf(c.Request.Context()).session()
	if err != nil {
		return err
	}
	writeEnded(c.Writer, s.End(c.Request.Context(), "ended by its client"))
	return nil
}
