// Package api is the HTTP front: it translates requests to the verbs of package
// session and their results to status codes, JSON and event streams.
//
// It decides nothing about locks. It checks the requests strictly: what is unknown,
// doubled, too large, of the wrong type or sent by another site is refused with a problem
// (RFC 9457) before the core is asked.
//
// Only the connection of a hold stream is a proof of life. A wait ends when its client
// hangs up, and a grant whose client is gone is given back.
package api

import (
	"cmp"
	"context"
	"crypto/rand"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/lockgw/lockgw/api/origin"
	"github.com/lockgw/lockgw/api/web"
	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/session/access"
	"github.com/lockgw/lockgw/session/history"
	"github.com/lockgw/lockgw/session/listing"
	"github.com/lockgw/lockgw/session/peer"
)

// Config of a Handler. Only Manager is required.
type Config struct {
	Manager *session.Manager
	// Lists are of Manager, one for all fronts. nil: of its own.
	Lists *listing.Lists
	// AllowedHosts are names or addresses, without port, that the Host header
	// may have over TCP besides those of the loopback interface.
	AllowedHosts []string
	// Descriptors counts the file descriptors of processes that are watched. nil: one of its own.
	Descriptors *peer.Descriptors
	// Access says who may do what. nil: everybody may lock and look.
	Access *access.Control
	// Reload reads the configuration again, for an administrator. It returns the keys
	// whose change needs a restart. nil: the endpoint is not there.
	Reload func() (restart []string, err error)
	// Examine looks at the store and the machine as this gateway sees them, and says which
	// configuration is in force, without secrets. Its result is sent as JSON. nil: the
	// endpoint is not there.
	Examine func(ctx context.Context) any
	// History is what happened to callers. nil: none is kept.
	History *history.History
	// Metrics serves /metrics; nil: there are none.
	Metrics http.Handler
	// Around is called before each endpoint, and may call Next; nil: nothing is.
	Around  gin.HandlerFunc
	Version string
	Log     *slog.Logger

	bodyTimeout  time.Duration                        // how long a client may take to send a body; 5 s
	commentEvery time.Duration                        // signs of life in a stream; 10 s
	peerOf       func(net.Conn) (session.Peer, error) // peer.Of
}

// Handler serves the HTTP API. It is safe for use on many listeners at once; use
// NewServer, which gives it what it has to know of the connections.
type Handler struct {
	Config
	engine *gin.Engine
	hosts  origin.Hosts
	site   *web.Site
}

var _ http.Handler = (*Handler)(nil)

// New makes a Handler. It starts nothing and has nothing to close.
func New(cfg Config) *Handler {
	cfg.Log, cfg.Access = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler)), cmp.Or(cfg.Access, access.Open())
	cfg.Lists, cfg.Descriptors = cmp.Or(cfg.Lists, listing.New(cfg.Manager)), cmp.Or(cfg.Descriptors, peer.NewDescriptors())
	if cfg.peerOf == nil {
		cfg.peerOf = peer.Of
	}
	cfg.bodyTimeout = cmp.Or(cfg.bodyTimeout, 5*time.Second)
	cfg.commentEvery = cmp.Or(cfg.commentEvery, 10*time.Second)
	h := &Handler{Config: cfg, hosts: origin.HostsOf(cfg.AllowedHosts), site: web.New(openapiYAML)}
	h.engine = newEngine()
	if cfg.Around != nil {
		h.engine.Use(cfg.Around) // first, so that it sees the answer to a panic, too
	}
	h.engine.Use(h.recover)
	h.engine.NoRoute(h.answer(noRoute))
	h.engine.NoMethod(h.answer(h.noMethod))
	h.routes(h.engine)
	return h
}

// newEngine makes a router that takes a path as it was sent. A lock name may
// contain %2F, be ".." or "a+b", so nothing is cleaned, redirected or decoded on
// the way; gin would decode a plus sign to a space.
func newEngine() *gin.Engine {
	gin.SetMode(gin.ReleaseMode)
	e := gin.New()
	e.UseEscapedPath = true
	e.UnescapePathValues = false
	e.RedirectTrailingSlash = false
	e.RedirectFixedPath = false
	e.HandleMethodNotAllowed = true
	_ = e.SetTrustedProxies(nil) // nil is always accepted
	return e
}

func (h *Handler) routes(r gin.IRoutes) {
	for _, e := range []struct {
		method, path string
		do           endpoint
	}{
		{http.MethodGet, "/v1/locks", h.listLocks},
		{http.MethodPut, "/v1/locks/:name", h.acquire},
		{http.MethodDelete, "/v1/locks/:name", h.release},
		{http.MethodGet, "/v1/locks/:name", bare(h.inspect)},
		{http.MethodPost, "/v1/locks/:name/renew", h.renew},
		{http.MethodPost, "/v1/locks/:name/hold", h.hold},
		{http.MethodGet, "/v1/locks/:name/check", h.check},
		{http.MethodGet, "/v1/locks/:name/history", h.lockHistory},
		{http.MethodGet, "/v1/history", h.contended},
		{http.MethodPost, "/v1/multilocks", h.acquireAll},
		{http.MethodDelete, "/v1/multilocks", h.releaseAll},
		{http.MethodPost, "/v1/sessions", h.openSession},
		{http.MethodGet, "/v1/sessions", h.listSessions},
		{http.MethodDelete, "/v1/sessions", h.killUser},
		{http.MethodDelete, "/v1/sessions/:id", bare(h.killSession)},
		{http.MethodGet, "/v1/sessions/self", bare(h.showSession)},
		{http.MethodDelete, "/v1/sessions/self", bare(h.endSession)},
		{http.MethodPost, "/v1/sessions/self/keepalive", bare(h.keepalive)},
		{http.MethodGet, "/v1/sessions/self/events", bare(h.sessionEvents)},
		{http.MethodGet, "/v1/events", bare(h.allEvents)},
		{http.MethodPost, "/v1/admin/reload", bare(h.reload)},
		{http.MethodGet, "/v1/admin/doctor", bare(h.examine)},
		{http.MethodGet, "/livez", bare(h.livez)},
		{http.MethodGet, "/readyz", h.readyz},
		{http.MethodGet, "/metrics", bare(h.metrics)},
		{http.MethodGet, "/version", bare(h.version)},
		{http.MethodGet, "/openapi.yaml", bare(h.openapi)},
		{http.MethodGet, "/", bare(h.page)},
		{http.MethodGet, "/docs", bare(h.docs)},
		{http.MethodGet, "/web/:file", bare(h.pagePart)},
	} {
		r.Handle(e.method, e.path, h.answer(e.do))
		if e.method == http.MethodGet {
			r.Handle(http.MethodHead, e.path, h.answer(e.do)) // net/http sends no body then
		}
	}
}

// ServeHTTP answers one request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set(requestIDHeader, rand.Text())
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Cache-Control", "no-store")
	r, err := h.admit(w, r)
	if err != nil {
		h.refuse(w, r, withLock(err, r))
		return
	}
	h.engine.ServeHTTP(w, r)
}
