package session

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
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

func (t Token) hash() tokenHash { return sha256.Sum256([]byte(t)) }

// String hides the secret; Secret tells it.
func (t Token) String() string { return "token-hidden" }

// GoString hides the secret too.
func (t Token) GoString() string { return t.String() }

// Secret is the token as the client has to send it.
func (t Token) Secret() string { return string(t) }
