package api

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/lockgw/lockgw/api/accept"
	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/session/access"
	"github.com/lockgw/lockgw/session/peer"
)

// connection is what is known of the connection of a request.
type connection struct {
	conn     net.Conn      // of the kernel
	shared   *accept.Conn  // nil: of a listener that Listen has not made
	accepted time.Duration // on the clock of deadlines
	unix     bool
	peer     session.Peer
	peerErr  error         // why peer is not known
	direct   access.Caller // who connected, whatever is sent then
}

// identity is who sends a request, and for which session. It is found out once, before
// the endpoint is chosen, and is in the request's context from then on.
type identity struct {
	connection
	caller access.Caller    // with what the request shows: an access token, or the token of a session and who opened that
	token  session.Token    // of a session; "": none was sent
	sess   *session.Session // nil: no session was named, or err
	err    error            // what is wrong with the credential; it matters to those who need one
}

// account is the account on which the connection is counted.
func (c connection) account() string {
	if c.shared == nil {
		return ""
	}
	return c.shared.Account()
}

type (
	connectionKey struct{}
	identityKey   struct{}
)

func (h *Handler) connContext(ctx context.Context, c net.Conn) context.Context {
	shared := accept.Of(c)
	if shared != nil {
		c = shared.Kernel()
	}
	conn := connection{
		conn: c, shared: shared, accepted: session.Boottime(), unix: c.LocalAddr().Network() == "unix",
	}
	conn.peer, conn.peerErr = h.peerOf(c)
	conn.direct = access.Of(c, conn.peer)
	return context.WithValue(ctx, connectionKey{}, conn)
}

// connectionOf is the connection of a request. One of which nothing is known is taken for
// one over TCP, which has fewer rights.
func connectionOf(ctx context.Context) connection {
	if c, ok := ctx.Value(connectionKey{}).(connection); ok {
		return c
	}
	return connection{peer: session.NoPeer()}
}

// identityOf is the identity of a request that was admitted.
func identityOf(ctx context.Context) *identity {
	if who, ok := ctx.Value(identityKey{}).(*identity); ok {
		return who
	}
	return &identity{connection: connectionOf(ctx)}
}

// identify finds out who sends r. Over TCP the token of a session identifies the caller as
// well as the access token that opened the session. A session that is found counts as alive.
func (h *Handler) identify(r *http.Request) *identity {
	who := &identity{connection: connectionOf(r.Context())}
	who.direct = who.direct.WithCertificate(r.TLS)
	who.caller = who.direct
	token, err := bearer(r)
	if err != nil || token == "" {
		who.err = err
		return who
	}
	var shown bool
	if who.caller, shown = h.Access.Show(who.direct, token.Secret()); who.caller.Named() {
		return who // an access token names a caller and no session
	}
	who.token = token
	who.sess, who.err = h.Manager.Lookup(token)
	if !shown && who.err == nil {
		who.caller = who.direct.For(who.sess.Options())
	}
	return who
}

// bearer is the token of the request, "" if it carries no credential.
func bearer(r *http.Request) (session.Token, error) {
	values := r.Header.Values("Authorization")
	if len(values) == 0 {
		return "", nil
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	if token = strings.TrimSpace(token); !strings.EqualFold(scheme, "Bearer") || token == "" {
		return "", refusal(session.CodeNoSession, "the Authorization header is not: Bearer, and the token of a session")
	}
	return session.Token(token), nil
}

// named tells whether the request names a session, known or not.
func (who *identity) named() bool { return who.token != "" || who.err != nil }

// session is the session that the request speaks for.
func (who *identity) session() (*session.Session, error) {
	if !who.named() {
		return nil, refusal(session.CodeNoSession,
			"this needs a session; send its token as Authorization: Bearer, or open one by POST /v1/sessions")
	}
	return who.sess, who.err
}

// toAnybody are the paths that everybody may ask for, because they tell nothing about locks.
// /livez is for probes, and the pages get what they show by requests of their own.
var toAnybody = []string{"/livez", "/version", "/", "/docs", "/openapi.yaml"}

// ofSession are the requests for which the token of a session is enough, also when the access
// token that opened it is gone: they keep what the session holds, or give it back.
var ofSession = []struct{ method, route string }{
	{http.MethodDelete, "/v1/locks/:name"},
	{http.MethodPost, "/v1/locks/:name/renew"},
	{http.MethodDelete, "/v1/multilocks"},
	{http.MethodGet, "/v1/sessions/self"},
	{http.MethodDelete, "/v1/sessions/self"},
	{http.MethodPost, "/v1/sessions/self/keepalive"},
	{http.MethodGet, "/v1/sessions/self/events"},
}

// wasKnown tells whether r is one of those, of a session that was opened with an access token.
func (who *identity) wasKnown(r *http.Request) bool {
	path := r.URL.EscapedPath()
	return who.sess != nil && who.caller.Named() && slices.ContainsFunc(ofSession, func(e struct{ method, route string }) bool {
		return e.method == r.Method && matches(e.route, path) >= 0
	})
}

// admitCaller refuses a caller who comes over the network and is not known.
func (h *Handler) admitCaller(r *http.Request, who *identity) error {
	if !who.direct.Remote() {
		return nil
	}
	path := r.URL.EscapedPath()
	if slices.Contains(toAnybody, path) || strings.HasPrefix(path, "/web/") {
		return nil
	}
	err := h.Access.Known(who.caller)
	if who.wasKnown(r) {
		err = nil
	}
	if err == nil && who.shared != nil {
		err = who.shared.Identify(peer.Known(who.caller.Account()))
	}
	if err != nil && session.CodeOf(who.err) == session.CodeSessionEnded {
		return who.err // who has its token may know why
	}
	return err
}

// allow returns an error if the caller lacks the right for one of the names, or sends too
// many requests.
func (h *Handler) allow(who *identity, right access.Right, names ...string) error {
	if err := h.Access.Spend(who.caller, who.sessionID()); err != nil {
		return err
	}
	for _, name := range names {
		if err := h.Access.May(who.caller, right, name); err != nil {
			return cmp.Or(who.err, err)
		}
	}
	return nil
}

func (who *identity) sessionID() string {
	if who.sess == nil {
		return ""
	}
	return who.sess.ID()
}

// giving is the session of a request that gives back names, or everything that it holds. A
// caller that holds none of them and sends too many requests is refused.
func (h *Handler) giving(who *identity, thread int64, names ...string) (*session.Session, error) {
	s, err := who.session()
	held := err == nil && (names == nil && len(s.Leases()) > 0 || slices.ContainsFunc(names, func(name string) bool {
		_, none := s.Lease(name, thread)
		return none == nil
	}))
	if limit := h.Access.SpendBack(who.caller, who.sessionID(), held); limit != nil {
		return nil, limit
	}
	return s, err
}

// sign notes in o who opens the session.
func (h *Handler) sign(who *identity, o *session.Options) error {
	for key := range o.Meta {
		if strings.HasPrefix(key, access.Reserved) {
			return session.Invalid("meta", "%s begins with %s, which the gateway keeps for itself", session.Quote(key), access.Reserved)
		}
	}
	h.Access.Sign(who.caller, o)
	later := who.direct.For(*o) // who comes with the session's token
	if h.Access.Known(who.caller) == nil && h.Access.Known(later) != nil {
		return refusal(access.CodeForbidden,
			"the admin token opens no session over the network, where its token would be of no use; use an access token")
	}
	return nil
}
