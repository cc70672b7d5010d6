package api

import (
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/session"
)

// lock is a hold as its holder is told of it.
type lock struct {
	Name               string        `json:"name"`
	State              session.State `json:"state"`
	Owner              backend.Owner `json:"owner"`
	Token              string        `json:"token,omitempty"`
	Thread             int64         `json:"thread"`
	Count              int           `json:"count"`
	Fence              backend.Fence `json:"fence"`
	TTLMS              int64         `json:"ttl_ms"`
	ExpiresAt          time.Time     `json:"expires_at"`
	ValidUntilBoottime int64         `json:"valid_until_boottime_ns,omitempty"`
	MaxHoldAt          time.Time     `json:"max_hold_at,omitzero"`
	AutoRenew          bool          `json:"auto_renew"`
	Note               string        `json:"note,omitempty"`
}

// lockOf tells the deadline on this machine's clock only to those who share it.
func lockOf(v session.View, token session.Token, who *identity) lock {
	l := lock{
		Name: v.Name, State: v.State, Owner: v.Owner, Token: token.Secret(), Thread: v.Thread, Count: v.Count,
		Fence: v.Fence, TTLMS: v.Left.Milliseconds(), ExpiresAt: v.Expires.UTC(), MaxHoldAt: v.MaxHoldAt.UTC(), AutoRenew: v.AutoRenew, Note: v.Note,
	}
	if who.unix {
		l.ValidUntilBoottime = v.Deadline.Nanoseconds()
	}
	return l
}

func (h *Handler) acquire(c *gin.Context) error {
	cl, err := readClaim(c, 0)
	if err != nil {
		return err
	}
	if cl.acquire.Wait > 0 {
		watch(c)
	}
	if err := h.begin(c, cl, nil); err != nil {
		return err
	}
	grant, err := cl.sess.Acquire(c.Request.Context(), cl.names[0], cl.acquire)
	return settle(c, cl, grant, err)
}

func settle(c *gin.Context, cl *claim, g session.Grant, err error) error {
	return cl.settle(c, []session.Grant{g}, err, "its lock was not acquired, or nobody was left to be told of it", func() error { return tell(c, cl, g) })
}

// tell answers with a grant.
func tell(c *gin.Context, cl *claim, g session.Grant) error {
	status := http.StatusOK
	if g.New {
		status = http.StatusCreated
	}
	if wanted(c.Request, gin.MIMEJSON, gin.MIMEPlain) == gin.MIMEPlain {
		return tellToken(c, status, cl, g.Lease)
	}
	return writeLock(c, status, g.Lease, cl.token)
}

// tellToken answers with the token alone, for T=$(curl ...).
func tellToken(c *gin.Context, status int, cl *claim, l *session.Lease) error {
	v, err := l.View()
	if err != nil {
		return err
	}
	fenceHeaders(c.Writer.Header(), v.Fence)
	write(c.Writer, status, "text/plain; charset=utf-8", []byte(cl.token.Secret()+"\n"))
	return nil
}

// writeLock reads the hold right before it writes, so that the answer is true at that
// moment, even if the request was slow before.
func writeLock(c *gin.Context, status int, l *session.Lease, token session.Token) error {
	v, err := l.View()
	if err != nil {
		return err
	}
	fenceHeaders(c.Writer.Header(), v.Fence)
	writeJSON(c.Writer, status, lockOf(v, token, identityOf(c.Request.Context())))
	return nil
}

// fenceHeaders sets the headers of the fence. A store that cannot order grants has none.
func fenceHeaders(header http.Header, f backend.Fence) {
	if f == 0 {
		return
	}
	n := strconv.FormatUint(uint64(f), 10)
	header.Set("ETag", strconv.Quote(n))
	header.Set("Lockgw-Fence", n)
}
