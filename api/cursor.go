package api

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"strings"

	"github.com/lockgw/lockgw/session"
)

// cursors hides cursors: that of a store may be a lock name, which the caller may
// have no right to see.
type cursors struct{ cipher.AEAD }

// sealed begins a cursor that was hidden. No lock name can begin so, and no number.
const sealed = "lockgw:"

// newCursors has a key of its own: a cursor does not outlive the process.
func newCursors() cursors {
	key := make([]byte, 32)
	_, _ = rand.Read(key)            // never fails, see its documentation
	block, err := aes.NewCipher(key) // fails only for another length
	if err != nil {
		panic(err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block) // fails only for another size of blocks
	if err != nil {
		panic(err)
	}
	return cursors{aead}
}

// seal hides a cursor, but for "", which is the end.
func (c cursors) seal(cursor string) string {
	if cursor == "" {
		return ""
	}
	return sealed + base64.RawURLEncoding.EncodeToString(c.Seal(nil, nil, []byte(cursor), nil))
}

// open is the opposite of seal, and leaves a cursor that was not hidden as it is.
func (c cursors) open(cursor string) (string, error) {
	text, hidden := strings.CutPrefix(cursor, sealed)
	if !hidden {
		return cursor, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		b, err = c.Open(nil, nil, b, nil)
	}
	if err != nil {
		return "", session.Invalid("cursor", "is none that this process has given; begin again without one")
	}
	return string(b), nil
}
