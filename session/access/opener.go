package access

import (
	"encoding/hex"
	"strings"

	"github.com/lockgw/lockgw/session"
)

// Reserved begins keys of a session's Meta that no client may set.
const Reserved = "lockgw:"

// metaToken keeps the name of the token that a session was opened with, also over a
// restart of the gateway.
const metaToken = Reserved + "token"

// Sign writes into o that by opens the session, so that the session's token has the rights of
// the token that it was opened with. A request with the same key by another caller is another
// request.
func (c *Control) Sign(by Caller, o *session.Options) {
	o.User, o.Administers = by.user(), c.policy.Load().administers(by)
	if uid, ok := strings.CutPrefix(o.Account, "uid "); ok && o.User == "" { // as the kernel tells over TCP, too
		o.User = "user:" + uid
	}
	if by.token != "" {
		meta := map[string]string{metaToken: by.token}
		for k, v := range o.Meta {
			meta[k] = v
		}
		o.Meta = meta
	}
	if by.secret != nil {
		o.Access = hex.EncodeToString(by.secret[:])
	}
	if o.Key != "" && (by.token != "" || len(by.certs) > 0) {
		o.Key = strings.Join(append([]string{o.Key, by.token}, by.certs...), "\n")
	}
}

// For is by when it uses the token of a session over TCP. On a Unix socket the user counts,
// because the token may come from somebody else.
func (by Caller) For(o session.Options) Caller {
	if by.via != viaUnix && by.token == "" {
		by.token, by.secret = o.Meta[metaToken], secretOf(o)
	}
	return by
}

// secretOf is what Sign has written of the token.
func secretOf(o session.Options) *hash {
	var h hash
	if b, err := hex.DecodeString(o.Access); err != nil || copy(h[:], b) < len(h) {
		return nil
	}
	return &h
}
