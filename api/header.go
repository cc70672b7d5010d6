package api

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/lockgw/lockgw/session"
)

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
				return 0, "", session.Invalid("Prefer", "wait must be a whole number of seconds, not %s", session.Quote(seconds))
			}
			return time.Duration(n) * time.Second, "wait=" + strconv.FormatUint(n, 10), nil
		}
	}
	return 0, "", nil
}
