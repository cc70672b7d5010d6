package api

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/lockgw/lockgw/api/origin"
	"github.com/lockgw/lockgw/session"
)

// admit refuses requests that no endpoint may see, finds out who sends the request, and reads
// its body. It returns the request that the endpoint gets; see identityOf.
func (h *Handler) admit(w http.ResponseWriter, r *http.Request) (*http.Request, error) {
	if err := checkConn(w, r); err != nil {
		w.Header().Set("Connection", "close")
		return r, err
	}
	hasBody := r.ContentLength != 0
	if hasBody {
		h.limitReading(w)
	}
	err := h.checkHead(r)
	if err == nil {
		who := h.identify(r)
		r = r.WithContext(context.WithValue(r.Context(), identityKey{}, who))
		err = h.admitCaller(r, who)
	}
	if err == nil {
		err = h.takeBody(w, r)
	}
	if err != nil && hasBody {
		w.Header().Set("Connection", "close") // or net/http reads on before it answers
	}
	return r, err
}

// checkHead looks at all but the body.
func (h *Handler) checkHead(r *http.Request) error {
	switch {
	case len(r.RequestURI) > maxURL:
		return urlTooLong()
	case headerBytes(r) > maxHeaders:
		return headersTooLarge()
	case r.ContentLength > maxBody:
		return bodyTooLarge() // before a client that asks first is told to send it
	case !connectionOf(r.Context()).unix && !h.hosts.Allow(r.Host):
		return refusal(codeHostNotAllowed,
			"the Host %s is not a loopback name and not in http.allowed_hosts", session.Quote(r.Host))
	case origin.CrossSite(r):
		return refusal(codeCrossOrigin,
			"the request comes from a page of another site (Origin, Referer or Sec-Fetch-Site)")
	case strings.EqualFold(r.Header.Get("Upgrade"), "websocket"):
		return session.Invalid("Upgrade", "there are no WebSockets here; streams are Server-Sent Events or NDJSON")
	case len(r.Header.Values("Authorization")) > 1:
		return session.Invalid("Authorization", "was sent more than once")
	}
	if err := noCondition(r); err != nil {
		return err
	}
	return noTokenInURL(r)
}

// noCondition refuses a change on a condition that nobody looks at: the client relies on it.
func noCondition(r *http.Request) error {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return nil
	}
	for _, name := range []string{"If-Match", "If-None-Match"} {
		looked := name == "If-Match" && r.Method == http.MethodDelete && strings.HasPrefix(r.URL.Path, "/v1/locks/")
		if len(r.Header.Values(name)) > 0 && !looked {
			return session.Invalid(name, "is not looked at here, but by DELETE /v1/locks/NAME, which knows If-Match; leave it out")
		}
	}
	return nil
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

// noTokenInURL refuses a token in the URL, because URLs end up in logs and shell histories.
func noTokenInURL(r *http.Request) error {
	q := r.URL.Query()
	for _, name := range []string{"token", "access_token"} {
		if q.Has(name) {
			return session.Invalid(name, "a token belongs in the Authorization header, never into a URL")
		}
	}
	return nil
}

// takeBody reads the whole body, for two reasons: only then does net/http notice that a
// client hangs up, and a refused request must not wait for the rest of its body.
func (h *Handler) takeBody(w http.ResponseWriter, r *http.Request) error {
	if r.ContentLength == 0 {
		return nil
	}
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	_, tooLong := errors.AsType[*http.MaxBytesError](err)
	switch {
	case tooLong:
		return bodyTooLarge()
	case errors.Is(err, os.ErrDeadlineExceeded):
		return session.Invalid("body", "did not arrive whole within %v", h.bodyTimeout)
	case err != nil:
		return session.Invalid("body", "did not arrive whole: %v", err)
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(b)), int64(len(b))
	return checkMediaType(r)
}

func checkMediaType(r *http.Request) error {
	if r.ContentLength == 0 {
		return nil
	}
	if enc := strings.Join(r.Header.Values("Content-Encoding"), ", "); enc != "" && enc != "identity" {
		return refusal(codeMediaType, "Content-Encoding: send the body as it is, not as %s", session.Quote(enc))
	}
	sent := strings.Join(r.Header.Values("Content-Type"), ", ") // two of them are none
	mt, opts, err := mime.ParseMediaType(sent)
	charset := strings.ToLower(opts["charset"])
	if err != nil || mt != "application/json" || charset != "" && charset != "utf-8" {
		return refusal(codeMediaType, "Content-Type: a body must be application/json in UTF-8, not %s", session.Quote(sent))
	}
	return nil
}

// limitReading sets how long the client may take to send the body. net/http takes
// the limit away when it has seen the end of the body, so a wait may be longer.
func (h *Handler) limitReading(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(h.bodyTimeout)) // not every ResponseWriter has one
}
