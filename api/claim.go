package api

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/lockgw/lockgw/api/params"
	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/session/access"
)

// acquireParams are what acquire and hold are sent.
type acquireParams struct {
	Wait    params.Duration `param:"wait"`
	TTL     params.Positive `param:"ttl"`
	Renew   params.Boolean  `param:"renew"`
	Thread  params.Thread   `param:"thread"`
	Mode    params.Shared   `param:"mode"`
	Limit   params.Permits  `param:"limit"`
	Bind    params.Bind     `param:"bind"`
	MaxHold params.Positive `param:"max_hold"`
	MinHold params.Duration `param:"min_hold"`
	Note    params.Note     `param:"note"`
}

// A claim is the attempt of one request to get a lock, or several at once: in the session
// whose token it carries, or in a session that is opened for this claim alone.
type claim struct {
	names   []string
	acquire session.Acquire
	pid     int    // of bind, 0: none
	prefer  string // the wait of the Prefer header, if it is followed

	sess  *session.Session
	token session.Token
	own   bool // sess was opened for this claim
}

// readClaim reads the parameters of acquire and hold; wait is how long to wait if the
// request does not say.
func readClaim(c *gin.Context, wait time.Duration) (*claim, error) {
	name, err := lockName(c)
	if err != nil {
		return nil, err
	}
	p := acquireParams{Wait: params.Duration(wait), Renew: true, Thread: 1}
	sent, err := params.QueryOrBody(c.Request, &p)
	if err != nil {
		return nil, err
	}
	return p.claim(c.Request, sent, name)
}

// claim makes a claim of p and of what the headers of r say. The Prefer header counts
// if the parameters that were sent say no wait.
func (p *acquireParams) claim(r *http.Request, sent params.Params, names ...string) (*claim, error) {
	preferred, prefer, err := preferWait(r)
	if err != nil {
		return nil, err
	}
	switch {
	case sent.Has("wait"):
		prefer = ""
	case prefer != "":
		p.Wait = params.Duration(preferred)
	}
	if sent.Has("mode") && !bool(p.Mode) && p.Limit != 0 { // who asks to be alone may not get company
		return nil, session.Invalid("limit", "does not go with mode=exclusive; leave mode out for a semaphore, or limit for a lock")
	}
	key, err := idempotencyKey(r)
	if err != nil {
		return nil, err
	}
	return &claim{names: names, prefer: prefer, pid: int(p.Bind), acquire: session.Acquire{
		Thread: int64(p.Thread), Wait: time.Duration(p.Wait), TTL: time.Duration(p.TTL), Fixed: !bool(p.Renew),
		MaxHold: time.Duration(p.MaxHold), MinHold: time.Duration(p.MinHold), Note: string(p.Note),
		Shared: bool(p.Mode), Limit: int(p.Limit), Key: key,
	}}, nil
}

// begin finds the session of the claim, or opens one with alive as its proof of life,
// if that is not nil, for a caller that may lock all the names.
func (h *Handler) begin(c *gin.Context, cl *claim, alive session.Liveness) error {
	if cl.prefer != "" {
		c.Header(preferenceApplied, cl.prefer)
	}
	who := identityOf(c.Request.Context())
	if err := h.allow(who, access.Lock, cl.names...); err != nil {
		return err
	}
	switch {
	case !who.named():
		return h.open(c.Request, who, cl, alive)
	case cl.pid != 0 && who.token != "":
		return session.Invalid("bind", "belongs to the session, which is open already; bind it when it is opened")
	}
	var err error
	cl.sess, err = who.session()
	cl.token = who.token
	return err
}

func (h *Handler) open(r *http.Request, who *identity, cl *claim, alive session.Liveness) (err error) {
	if cl.pid != 0 && alive != nil {
		return session.Invalid("bind", "a hold ends with its connection and cannot be bound to a process too")
	}
	o := session.Options{OneLock: true, MaxHold: cl.acquire.MaxHold, Peer: who.peer, Account: who.account(), Alive: alive}
	if cl.pid != 0 {
		if err := h.bind(who, &o, cl.pid); err != nil {
			return err
		}
	}
	if alive == nil {
		if o.Key, err = sharedKey(r, who, cl.acquire.Key); err != nil {
			return err
		}
	}
	if o.Alive == nil {
		o.MaxHold = cmp.Or(o.MaxHold, h.Manager.Config().Session.AnonymousMaxHold)
	}
	if err = h.sign(who, &o); err != nil {
		return err
	}
	cl.sess, cl.token, err = h.Manager.Open(o)
	cl.own = true
	return err
}

// bind has the session end with the process that the client names.
func (h *Handler) bind(who *identity, o *session.Options, pid int) (err error) {
	switch {
	case !who.unix:
		return session.Invalid("bind", "works only over the Unix socket, where the kernel says who asks")
	case who.peerErr != nil:
		return session.Invalid("bind", "the gateway cannot tell who asks: %v", who.peerErr)
	}
	o.Alive, o.Process, err = h.Descriptors.Bind(who.conn, who.accepted, who.peer, pid)
	return err
}

// settle answers with the outcome of the claim, a grant by tell. What the client cannot be told
// of is given back, and if one of several was lost at the last moment, all are.
func (cl *claim) settle(c *gin.Context, gs []session.Grant, err error, otherwise string, tell func() error) error {
	ctx := c.Request.Context()
	got := err == nil
	if got {
		err = present(ctx)
	}
	if err == nil {
		err = tell()
	}
	if err == nil && sent(c.Writer) {
		return nil
	}
	if got && cl.acquire.Key == "" { // before the session ends, which leaves a name to its min_hold
		cl.sess.GiveBack(ctx, gs)
	}
	cl.giveUp(ctx, nil, otherwise)
	return err
}

// giveUp gives up what the claim has got: the session that was opened for it, or one
// entry of the hold; nil: there is none. It waits for the store until ctx is done. A client
// whose request has a key asks again to learn the outcome, so its hold stays.
func (cl *claim) giveUp(ctx context.Context, hold *session.Lease, reason string) {
	switch {
	case cl.own && cl.acquire.Key != "":
		cl.sess.Retire(reason)
	case cl.own:
		cl.sess.End(ctx, reason)
	case hold != nil && cl.acquire.Key == "":
		fence := hold.Fence() // once it is over, the same owner may have the name by another request
		_, _ = cl.sess.ReleaseSeen(ctx, cl.names[0], cl.acquire.Thread, false, &fence, "")
	}
}
