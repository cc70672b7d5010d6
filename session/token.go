package session

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
)

// Token is the secret by which a client speaks for its session: 256 random bits,
// as 43 characters of base64url. It does not print itself.
type Token string

// tokenHash is what the gateway keeps of a Token. Looking up a hash of what was
// sent takes no time that depends on the secret.
type tokenHash [sha256.Size]byte

func newToken() Token {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails, see its documentation
	return Token(base64.RawURLEncoding.EncodeToString(b[:]))
}

// tokenFor is the token of the session with that UUID, which o.Key has opened. Only this
// node, now and after a restart, can tell it. The next session of the key has another one.
func (m *Manager) tokenFor(uuid string, o Options) Token {
	return Token(m.derive("token "+uuid, o))
}

// keyOf is o.Key as it is kept: of one user, and without the secrets in it. "": there is none.
func (m *Manager) keyOf(o Options) string {
	if o.Key == "" {
		return ""
	}
	return m.derive("key", o)
}

func (m *Manager) derive(what string, o Options) string {
	mac := hmac.New(sha256.New, m.cfg.Past.Secret)
	_, _ = fmt.Fprintf(mac, "%s %d %s", what, o.Peer.UID, o.Key)
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func (t Token) hash() tokenHash { return sha256.Sum256([]byte(t)) }

// String hides the secret; Secret tells it.
func (t Token) String() string { return "token-hidden" }

// GoString hides the secret too.
func (t Token) GoString() string { return t.String() }

// Secret is the token as the client has to send it.
func (t Token) Secret() string { return string(t) }
