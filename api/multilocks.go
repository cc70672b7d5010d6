package api

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/session/access"
)

// A multiClaim is one request's try for several locks at once.
type multiClaim struct {
	claim
	names []string
}

// multilock is what was acquired by one request.
type multilock struct {
	Token string `json:"token"`
	Locks []lock `json:"locks"` // in the order in which they were asked for
}

func (h *Handler) acquireAll(c *gin.Context) error {
	m, err := readMultiClaim(c.Request)
	if err != nil {
		return err
	}
	if m.prefer != "" {
		c.Header("Preference-Applied", m.prefer)
	}
	if err := h.allow(c.Request, access.Lock, m.names...); err != nil {
		return err
	}
	if err := h.join(c.Request, &m.claim, nil); err != nil {
		return err
	}
	grants, err := m.sess.AcquireAll(c.Request.Context(), m.names, m.acquire)
	return m.settle(c, grants, err)
}

func readMultiClaim(r *http.Request) (*multiClaim, error) {
	m := &multiClaim{claim: claim{acquire: session.Acquire{Thread: 1}}}
	f := m.fields()
	f["names"] = names(&m.names)
	given, err := m.read(r, f)
	if err == nil && !given.has("names") {
		err = session.Invalid("names", "is missing: the locks to acquire, as a JSON array of strings")
	}
	return m, err
}

// settle answers with what came of the claim. What nobody is told of is given up,
// and with it the locks beside one that was lost at the last moment.
func (m *multiClaim) settle(c *gin.Context, gs []session.Grant, err error) error {
	ctx := c.Request.Context()
	got := err == nil
	if got {
		err = present(ctx)
	}
	if err == nil {
		err = m.tell(c, gs)
	}
	if err == nil && sent(c.Writer) {
		return nil
	}
	if got && !m.own && m.acquire.Key == "" {
		m.sess.GiveBack(ctx, gs)
	}
	m.end(ctx, false, "its locks were not acquired, or nobody was left to be told of them")
	return err
}

// tell looks at every hold right before it writes, as writeLock does.
func (m *multiClaim) tell(c *gin.Context, gs []session.Grant) error {
	o := originOf(c.Request.Context())
	locks := make([]lock, 0, len(gs))
	for _, g := range gs {
		v, err := g.Lease.View()
		if err != nil {
			return err
		}
		locks = append(locks, lockOf(v, m.token, o))
	}
	if c.NegotiateFormat(gin.MIMEJSON, gin.MIMEPlain) == gin.MIMEPlain {
		write(c.Writer, http.StatusCreated, "text/plain; charset=utf-8", []byte(m.token.Secret()+"\n"))
		return nil
	}
	writeJSON(c.Writer, http.StatusCreated, multilock{m.token.Secret(), locks})
	return nil
}

func (h *Handler) releaseAll(c *gin.Context) error {
	var list []string
	thread := int64(1)
	f := fields{"names": names(&list), "thread": integer(&thread, math.MaxInt64)}
	given, err := f.queryOrBody(c.Request)
	if err != nil {
		return err
	}
	if given.has("thread") && !given.has("names") {
		return session.Invalid("thread", "belongs to names; without them all that the session holds is released")
	}
	key, err := idempotencyKey(c.Request)
	if err != nil {
		return err
	}
	s, _, err := h.session(c.Request)
	if err != nil {
		return err
	}
	done, err := s.ReleaseAll(c.Request.Context(), list, thread, key)
	if err != nil {
		return err
	}
	if done.Pending {
		writeJSON(c.Writer, http.StatusAccepted, releasing{State: "releasing", FreeByMS: ceil(done.FreeBy, time.Millisecond)})
		return nil
	}
	writeJSON(c.Writer, http.StatusOK, struct {
		Released []string `json:"released"`
	}{append([]string{}, done.Names...)})
	return nil
}

// names takes a JSON array of strings with something in it. What a lock name may be
// is for the core to say.
func names(list *[]string) setter {
	return func(v value) error {
		switch {
		case v.kind == kindQuery:
			return errors.New("belongs into the JSON body, as an array of strings")
		case v.kind != kindArray:
			return v.must(kindArray)
		case len(v.items) == 0:
			return errors.New("must have at least one")
		}
		for i, item := range v.items {
			if err := item.must(kindText); err != nil {
				return fmt.Errorf("number %d %w", i+1, err)
			}
			*list = append(*list, item.text)
		}
		return nil
	}
}
