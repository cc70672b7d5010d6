package access

import (
	"crypto/tls"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/session/peer"
)

// Caller is who asks, as far as that is known. The zero value is nobody.
type Caller struct {
	peer   session.Peer // of a Unix socket
	groups []int        // likewise
	via    via
	certs  []string // names of the client's certificate
	token  string   // name of the access token
	secret *hash    // of that token; nil: of a session of an earlier version, which kept the name alone
	admin  *hash    // of the admin token that was shown
	stray  bool     // a token was shown that is neither
}

// via is the way by which a caller comes.
type via int

const (
	viaNetwork  via = iota // TCP, from another machine as far as can be told
	viaLoopback            // TCP on this machine
	viaUnix
)

// Of is who is at the other end of c, before anything was sent; who is what is
// known of a Unix socket. What did not come over loopback, from one end to the other, is taken
// to come from another machine.
func Of(c net.Conn, who session.Peer) Caller {
	by := Caller{peer: who}
	if u, ok := c.(*net.UnixConn); ok {
		by.via, by.groups = viaUnix, peer.Groups(u)
		return by
	}
	if peer.OverLoopback(c) {
		by.via = viaLoopback
	}
	return by
}

// WithCertificate is by with the names of a client certificate that was verified.
func (by Caller) WithCertificate(state *tls.ConnectionState) Caller {
	if state == nil || len(state.VerifiedChains) == 0 {
		return by
	}
	cert := state.PeerCertificates[0]
	by.certs = slices.Clone(cert.DNSNames)
	for _, u := range cert.URIs {
		by.certs = append(by.certs, u.String())
	}
	if cn := cert.Subject.CommonName; cn != "" && !slices.Contains(by.certs, cn) {
		by.certs = append([]string{cn}, by.certs...)
	}
	return by
}

// Remote tells whether by comes over the network.
func (by Caller) Remote() bool { return by.via == viaNetwork }

// Named tells whether by has shown an access token.
func (by Caller) Named() bool { return by.token != "" }

// Identified tells whether it is known who by is, so that it can be told from every other
// caller.
func (by Caller) Identified() bool { return by.user() != "" }

// String is by for people and for the audit record. It has no secret.
func (by Caller) String() string {
	var parts []string
	if by.peer.UID >= 0 && by.via == viaUnix {
		parts = append(parts, fmt.Sprintf("uid %d, pid %d (%s)", by.peer.UID, by.peer.PID, by.peer.Command))
	}
	if len(by.certs) > 0 {
		parts = append(parts, fmt.Sprintf("certificate %q", by.certs[0]))
	}
	if by.token != "" {
		parts = append(parts, fmt.Sprintf("token %q", by.token))
	}
	if len(parts) == 0 && by.via == viaLoopback {
		parts = append(parts, "somebody over TCP from this machine")
	}
	if len(parts) == 0 {
		parts = append(parts, "somebody unknown")
	}
	if by.admin != nil {
		parts = append(parts, "with the admin token")
	}
	return strings.Join(parts, ", ")
}

// has tells whether p has the access token that by has shown. One that was removed or replaced is
// none any more, also where its name has another.
func (p *policy) has(by Caller) bool {
	if by.secret == nil {
		return p.tokens.known[by.token]
	}
	return by.token != "" && p.tokens.names[*by.secret] == by.token
}

// is tells whether p means by. A token that was removed from the configuration does not count.
func (p *policy) is(by Caller, who principal) bool {
	switch who.kind {
	case kindUser:
		return by.via == viaUnix && by.peer.UID == who.id
	case kindGroup:
		return slices.Contains(by.groups, who.id)
	case kindToken:
		return by.token == who.name && p.has(by)
	case kindCert:
		return slices.Contains(by.certs, who.name)
	case kindLoopback:
		return by.via == viaLoopback
	default:
		return true // anyone
	}
}
