package api

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/session/access"
)

// caller is who sends r, and the ID of the session it speaks for, if any. Over TCP
// the token of a session tells as much as the access token that opened it.
func (h *Handler) caller(r *http.Request) (by access.Caller, id string) {
	by = originOf(r.Context()).by.WithCertificate(r.TLS)
	token, err := bearer(r)
	if err != nil || token == "" {
		return by, ""
	}
	by, shown := h.Access.Show(by, token.Secret())
	if shown {
		return by, ""
	}
	s, err := h.Manager.Lookup(token)
	if err != nil {
		return by, ""
	}
	return by.For(s.Options()), s.ID()
}

// toAnybody are paths that tell nothing of any lock. /livez is for probes; the pages
// ask for what they show by requests of their own.
var toAnybody = []string{"/livez", "/version", "/", "/docs", "/openapi.yaml"}

// identify refuses who comes over the network and is not known.
func (h *Handler) identify(r *http.Request) error {
	if !originOf(r.Context()).by.Remote() {
		return nil
	}
	path := r.URL.EscapedPath()
	if slices.Contains(toAnybody, path) || strings.HasPrefix(path, "/web/") {
		return nil
	}
	by, _ := h.caller(r)
	err := h.Access.Known(by)
	if err == nil {
		return nil
	}
	if ended := h.stray(r); session.CodeOf(ended) == session.CodeSessionEnded {
		return ended // who has its token may know why
	}
	return err
}

// stray says what is wrong with a token that was sent and stands for nothing; nil: none
// was, or it does.
func (h *Handler) stray(r *http.Request) error {
	token, err := h.sessionToken(r)
	if err == nil && token != "" {
		_, err = h.Manager.Lookup(token)
	}
	return err
}

// allow refuses a request that begins something if its caller has not that right to
// every name, or asks too often.
func (h *Handler) allow(r *http.Request, right access.Right, names ...string) error {
	by, id := h.caller(r)
	if err := h.Access.Spend(by, id); err != nil {
		return err
	}
	for _, name := range names {
		if err := h.Access.May(by, right, name); err != nil {
			return cmp.Or(h.stray(r), err)
		}
	}
	return nil
}

// sign notes in o who opens the session.
func (h *Handler) sign(r *http.Request, o *session.Options) error {
	for key := range o.Meta {
		if strings.HasPrefix(key, access.Reserved) {
			return session.Invalid("meta", "%s begins with %s, which the gateway keeps for itself", quote(key), access.Reserved)
		}
	}
	by, _ := h.caller(r)
	by.Sign(o)
	later := originOf(r.Context()).by.WithCertificate(r.TLS).For(*o) // who comes with the session's token
	if h.Access.Known(by) == nil && h.Access.Known(later) != nil {
		return refusal(access.CodeForbidden,
			"the admin token opens no session over the network, where its token would be of no use; use an access token")
	}
	return nil
}
