package api

import (
	"net/http"
	"strings"

	"github.com/lockgw/lockgw/session"
)

// admit refuses what no endpoint may see, and reads the body.
func (h *Handler) admit(w http.ResponseWriter, r *http.Request) error {
	hasBody := r.ContentLength != 0
	if hasBody {
		h.limitReading(w)
	}
	err := h.guard(r)
	if err == nil {
		err = h.takeBody(w, r)
	}
	if err != nil && hasBody {
		w.Header().Set("Connection", "close") // or net/http reads on before it answers
	}
	return err
}

// guard looks at all but the body.
func (h *Handler) guard(r *http.Request) error {
	switch {
	case len(r.RequestURI) > maxURL:
		return urlTooLong()
	case headerBytes(r) > maxHeaders:
		return headersTooLarge()
	case r.ContentLength > maxBody:
		return bodyTooLarge() // before a client that asks first is told to send it
	case !originOf(r.Context()).unix && !h.allowed(r.Host):
		return refusal(codeHostNotAllowed,
			"the Host %s is not a loopback name and not in http.allowed_hosts", quote(r.Host))
	case crossSite(r):
		return refusal(codeCrossOrigin,
			"the request comes from a page of another site (Origin, Referer or Sec-Fetch-Site)")
	case strings.EqualFold(r.Header.Get("Upgrade"), "websocket"):
		return session.Invalid("Upgrade", "there are no WebSockets here; streams are Server-Sent Events or NDJSON")
	case len(r.Header.Values("Authorization")) > 1:
		return session.Invalid("Authorization", "was sent more than once")
	}
	if err := noTokenInURL(r); err != nil {
		return err
	}
	return h.identify(r)
}

// headerBytes is the size of the request line and the headers as they were sent,
// give or take white space. net/http itself refuses only what is 4 KiB longer,
// and not with a problem.
func headerBytes(r *http.Request) int {
	n := len(r.Method) + len(r.RequestURI) + len(r.Proto) + len(r.Host)
	for name, values := range r.Header {
		for _, v := range values {
			n += len(name) + len(": ") + len(v) + len("\r\n")
		}
	}
	return n
}

// noTokenInURL: URLs end up in logs and shell histories.
func noTokenInURL(r *http.Request) error {
	q := r.URL.Query()
	for _, name := range []string{"token", "access_token"} {
		if q.Has(name) {
			return session.Invalid(name, "a token belongs into the Authorization header, never into a URL")
		}
	}
	return nil
}
