package api

import (
	"cmp"
	"context"
	"math"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/lockgw/lockgw/session"
)

// A claim is one request's try for a lock: in the session whose token it carries,
// or in one opened for this lock alone.
type claim struct {
	name    string
	acquire session.Acquire
	pid     int64  // of bind, 0: none
	prefer  string // the wait of the Prefer header, if it is followed

	sess  *session.Session
	token session.Token
	own   bool // sess was opened for this claim
}

// readClaim reads what acquire and hold are sent; wait is how long to wait if
// that is not said.
func readClaim(c *gin.Context, wait time.Duration) (*claim, error) {
	name, err := lockName(c)
	if err != nil {
		return nil, err
	}
	cl := &claim{name: name, acquire: session.Acquire{Thread: 1, Wait: wait}}
	_, err = cl.read(c.Request, cl.fields())
	return cl, err
}

// read takes the parameters f, and what the headers say.
func (cl *claim) read(r *http.Request, f fields) (given params, err error) {
	preferred, prefer, err := preferWait(r)
	if err != nil {
		return nil, err
	}
	if prefer != "" {
		cl.acquire.Wait = preferred
	}
	given, err = f.queryOrBody(r)
	if err != nil {
		return nil, err
	}
	if !given.has("wait") {
		cl.prefer = prefer
	}
	cl.acquire.Key, err = idempotencyKey(r)
	return given, err
}

func (cl *claim) fields() fields {
	a := &cl.acquire
	return fields{
		"wait":     duration(&a.Wait),
		"ttl":      positive(&a.TTL),
		"renew":    not(&a.Fixed),
		"thread":   integer(&a.Thread, math.MaxInt64),
		"mode":     mode(&a.Shared),
		"limit":    limit(&a.Limit),
		"bind":     bind(&cl.pid),
		"max_hold": positive(&a.MaxHold),
		"min_hold": duration(&a.MinHold),
		"note":     line(&a.Note, session.MaxNote),
	}
}

// join finds the session of the request's token, or opens one with alive as its
// proof of life, if that is not nil.
func (h *Handler) join(r *http.Request, cl *claim, alive session.Liveness) error {
	token, err := h.sessionToken(r)
	if err != nil {
		return err
	}
	if token == "" {
		return h.open(r, cl, alive)
	}
	if cl.pid != 0 {
		return session.Invalid("bind", "belongs to the session, which is open already; bind it when it is opened")
	}
	cl.sess, cl.token, err = h.session(r)
	return err
}

func (h *Handler) open(r *http.Request, cl *claim, alive session.Liveness) error {
	if cl.pid != 0 && alive != nil {
		return session.Invalid("bind", "a hold ends with its connection and cannot be bound to a process too")
	}
	o := session.Options{OneLock: true, MaxHold: cl.acquire.MaxHold, Peer: originOf(r.Context()).peer, Alive: alive}
	if cl.pid != 0 {
		if err := h.bind(r, &o, cl.pid); err != nil {
			return err
		}
	}
	if alive == nil {
		o.Key = cl.acquire.Key
	}
	if o.Alive == nil {
		o.MaxHold = cmp.Or(o.MaxHold, h.Manager.Config().Session.AnonymousMaxHold)
	}
	err := h.sign(r, &o)
	if err != nil {
		return err
	}
	cl.sess, cl.token, err = h.Manager.Open(o)
	cl.own = true
	return err
}

// bind has the session live as long as the process that the client names.
func (h *Handler) bind(r *http.Request, o *session.Options, pid int64) (err error) {
	if o.Alive, err = h.process(r, pid); err != nil || h.Identify == nil {
		return err
	}
	o.Process, err = h.Identify(int(pid))
	return err
}

// process is the proof of life of a process that the client names.
func (h *Handler) process(r *http.Request, pid int64) (session.Liveness, error) {
	o := originOf(r.Context())
	switch {
	case !o.unix:
		return nil, session.Invalid("bind", "works only over the Unix socket, where the kernel says who asks")
	case h.Process == nil:
		return nil, refusal(session.CodeUnsupported, "bind: this gateway cannot watch processes")
	case o.err != nil:
		return nil, session.Invalid("bind", "the gateway cannot tell who asks: %v", o.err)
	}
	if int(pid) == o.peer.PID && h.Connected != nil {
		return h.Connected(o.conn, o.accepted)
	}
	return h.Process(int(pid), o.peer)
}

// end gives up what the claim has got: the session that was opened for it, or one
// entry of the hold. It waits for the store until ctx is done. A client that named
// its request by a key asks again to learn the outcome, so that is left as it is.
func (cl *claim) end(ctx context.Context, held bool, reason string) {
	switch {
	case cl.own && cl.acquire.Key != "":
		cl.sess.Retire(reason)
	case cl.own:
		cl.sess.Close(ctx, reason)
	case held && cl.acquire.Key == "":
		_, _ = cl.sess.Release(ctx, cl.name, cl.acquire.Thread, false, "") // over already, or the core goes on trying
	}
}
