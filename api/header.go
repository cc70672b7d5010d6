package api

import (
	"crypto/sha256"
	"fmt"
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
	switch {
	case len(values) > 1:
		return "", session.Invalid("Idempotency-Key", "was sent more than once")
	case key == "" || len(key) > 64 || !visible(key):
		return "", session.Invalid("Idempotency-Key", "must be 1 to 64 visible ASCII characters")
	}
	return key, nil
}

// visible tells whether text has no other characters than the visible ones of ASCII.
func visible(text string) bool {
	return !strings.ContainsFunc(text, func(c rune) bool { return c <= ' ' || c > '~' })
}

// secretHeader carries a secret that the client has made up. By it the gateway recognizes a
// client whose user is not known.
const secretHeader = "Lockgw-Secret"

const (
	leastSecret = 22 // characters of base64 are 128 bits
	leastHex    = 32 // likewise
	mostSecret  = 128
)

// clientSecret is the value of secretHeader, "" if there is none.
func clientSecret(r *http.Request) (string, error) {
	values := r.Header.Values(secretHeader)
	if len(values) == 0 {
		return "", nil
	}
	secret := values[0]
	switch {
	case len(values) > 1:
		return "", session.Invalid(secretHeader, "was sent more than once")
	case len(secret) > mostSecret || !visible(secret):
		return "", session.Invalid(secretHeader, "must be at most %d visible ASCII characters", mostSecret)
	case len(secret) < leastSecret, len(secret) < leastHex && strings.Trim(secret, "0123456789abcdefABCDEF-") == "":
		return "", session.Invalid(secretHeader,
			"must be 128 random bits at least: %d hexadecimal digits (openssl rand -hex 16) or %d characters of base64", leastHex, leastSecret)
	}
	return secret, nil
}

// sharedKey identifies the session that was opened for r, so that a repeat of r, which has no
// token, finds it. Where the user is not known, everybody who happens to send the same key
// would be given that session and its token; there the secret of the client takes the place
// of the user.
func sharedKey(r *http.Request, who *identity, key string) (string, error) {
	secret, err := clientSecret(r)
	switch {
	case err != nil || key == "":
		return "", err
	case secret != "":
		return fmt.Sprintf("%s\n%x", key, sha256.Sum256([]byte(secret))), nil
	case who.caller.Identified():
		return key, nil
	}
	return "", session.Invalid("Idempotency-Key", "does not say who repeats the request, which the gateway cannot tell over TCP: send "+
		secretHeader+" as well, 128 random bits that you keep until you have the answer (openssl rand -hex 16), "+
		"or open a session first (POST /v1/sessions), or use the Unix socket")
}

// preferenceApplied tells which wait of the Prefer header was followed.
const preferenceApplied = "Preference-Applied"

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

// wanted is the media type of those on offer that the Accept header asks for most (RFC 9110,
// 12.5.1). Of several that it asks for alike that is the one it names first; if it asks for none,
// the first on offer.
func wanted(r *http.Request, offers ...string) string {
	ranges := strings.Split(strings.Join(r.Header.Values("Accept"), ","), ",")
	best, most, first := offers[0], 0.0, 0
	for _, offer := range offers {
		q, at := weight(ranges, offer)
		if q > most || q == most && q > 0 && at < first {
			best, most, first = offer, q, at
		}
	}
	return best
}

// weight is how much the ranges ask for the type on offer, 0 for not at all, and which of them
// says so: the one that names it most exactly.
func weight(ranges []string, offer string) (q float64, at int) {
	class, _, _ := strings.Cut(offer, "/")
	closest := 0
	for i, r := range ranges {
		name, options, _ := strings.Cut(r, ";")
		name = strings.TrimSpace(name)
		exact := 0
		switch {
		case strings.EqualFold(name, offer):
			exact = 3
		case strings.EqualFold(name, class+"/*"):
			exact = 2
		case name == "*/*":
			exact = 1
		}
		if exact > closest {
			closest, q, at = exact, weightOf(options), i
		}
	}
	return q, at
}

// weightOf is the q of a media range, 1 if that is not there or no number.
func weightOf(options string) float64 {
	for o := range strings.SplitSeq(options, ";") {
		name, value, _ := strings.Cut(o, "=")
		if q, err := strconv.ParseFloat(strings.TrimSpace(value), 64); err == nil && strings.EqualFold(strings.TrimSpace(name), "q") {
			return q
		}
	}
	return 1
}
