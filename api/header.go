package api

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/session/access"
)

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

// sessionToken is bearer, "" for an access token: that names a caller and no session.
func (h *Handler) sessionToken(r *http.Request) (session.Token, error) {
	token, err := bearer(r)
	if by, _ := h.Access.Show(access.Caller{}, token.Secret()); by.Named() {
		return "", err
	}
	return token, err
}

// session is the session that the request speaks for.
func (h *Handler) session(r *http.Request) (*session.Session, session.Token, error) {
	token, err := h.sessionToken(r)
	if err != nil {
		return nil, "", err
	}
	if token == "" {
		return nil, "", refusal(session.CodeNoSession,
			"this needs a session; send its token as Authorization: Bearer, or open one by POST /v1/sessions")
	}
	s, err := h.Manager.Lookup(token)
	return s, token, err
}

// idempotencyKey is the key by which a client repeats a request, "" if none.
func idempotencyKey(r *http.Request) (string, error) {
	values := r.Header.Values("Idempotency-Key")
	if len(values) == 0 {
		return "", nil
	}
	key := values[0]
	visible := func(c rune) bool { return c > ' ' && c <= '~' }
	switch {
	case len(values) > 1:
		return "", session.Invalid("Idempotency-Key", "was sent more than once")
	case key == "" || len(key) > 64 || strings.ContainsFunc(key, func(c rune) bool { return !visible(c) }):
		return "", session.Invalid("Idempotency-Key", "must be 1 to 64 visible ASCII characters")
	}
	return key, nil
}

// preferWait is the wait of the Prefer header (RFC 7240), and how it was written.
func preferWait(r *http.Request) (time.Duration, string, error) {
	for _, header := range r.Header.Values("Prefer") {
		for p := range strings.SplitSeq(header, ",") {
			p, _, _ = strings.Cut(p, ";")
			name, seconds, _ := strings.Cut(p, "=")
			if !strings.EqualFold(strings.TrimSpace(name), "wait") {
				continue
			}
			n, err := strconv.ParseUint(strings.TrimSpace(seconds), 10, 31)
			if err != nil {
				return 0, "", session.Invalid("Prefer", "wait must be a whole number of seconds, not %s", quote(seconds))
			}
			return time.Duration(n) * time.Second, "wait=" + strconv.FormatUint(n, 10), nil
		}
	}
	return 0, "", nil
}
