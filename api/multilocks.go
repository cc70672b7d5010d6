package api

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/lockgw/lockgw/api/params"
	"github.com/lockgw/lockgw/session"
)

// multilock is what was acquired by one request.
type multilock struct {
	Token string `json:"token"`
	Locks []lock `json:"locks"` // in the order in which they were asked for
}

func (h *Handler) acquireAll(c *gin.Context) error {
	p := struct {
		acquireParams
		Names params.Names `param:"names"`
	}{acquireParams: acquireParams{Renew: true, Thread: 1}}
	sent, err := params.QueryOrBody(c.Request, &p)
	if err != nil {
		return err
	}
	if p.Names == nil {
		return session.Invalid("names", "is missing: the locks to acquire, as a JSON array of strings")
	}
	cl, err := p.claim(c.Request, sent, p.Names...)
	if err != nil {
		return err
	}
	if cl.acquire.Wait > 0 {
		watch(c)
	}
	if err := h.begin(c, cl, nil); err != nil {
		return err
	}
	grants, err := cl.sess.AcquireAll(c.Request.Context(), cl.names, cl.acquire)
	return settleAll(c, cl, grants, err)
}

func settleAll(c *gin.Context, cl *claim, gs []session.Grant, err error) error {
	return cl.settle(c, gs, err, "its locks were not acquired, or nobody was left to be told of them", func() error { return tellAll(c, cl, gs) })
}

// tellAll looks at every hold right before it writes, as writeLock does.
func tellAll(c *gin.Context, cl *claim, gs []session.Grant) error {
	who := identityOf(c.Request.Context())
	locks := make([]lock, 0, len(gs))
	for _, g := range gs {
		v, err := g.Lease.View()
		if err != nil {
			return err
		}
		locks = append(locks, lockOf(v, cl.token, who))
	}
	if wanted(c.Request, gin.MIMEJSON, gin.MIMEPlain) == gin.MIMEPlain {
		write(c.Writer, http.StatusCreated, "text/plain; charset=utf-8", []byte(cl.token.Secret()+"\n"))
		return nil
	}
	writeJSON(c.Writer, http.StatusCreated, multilock{cl.token.Secret(), locks})
	return nil
}

func (h *Handler) releaseAll(c *gin.Context) error {
	p := struct {
		Names  params.Names  `param:"names"`
		Thread params.Thread `param:"thread"`
	}{Thread: 1}
	sent, err := params.QueryOrBody(c.Request, &p)
	if err != nil {
		return err
	}
	if sent.Has("thread") && p.Names == nil {
		return session.Invalid("thread", "belongs to names; without them all that the session holds is released")
	}
	key, err := idempotencyKey(c.Request)
	if err != nil {
		return err
	}
	s, err := h.giving(identityOf(c.Request.Context()), int64(p.Thread), p.Names...)
	if err != nil {
		return err
	}
	done, err := s.ReleaseAll(c.Request.Context(), p.Names, int64(p.Thread), key)
	if err != nil {
		return err
	}
	writeEnded(c.Writer, done)
	return nil
}
