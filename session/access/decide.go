package access

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/lockgw/lockgw/session"
)

// Show is by with the rights of a token. ok is false if that is neither an access token nor
// the admin token; it may be the token of a session then.
func (c *Control) Show(by Caller, token string) (_ Caller, ok bool) {
	p := c.policy.Load()
	if token == "" {
		return by, false
	}
	h := hashOf(token)
	if p.admin != nil && h == *p.admin {
		by.admin = &h
		return by, true
	}
	if name, known := p.tokens.names[h]; known {
		by.token, by.secret = name, &h
		return by, true
	}
	by.stray = true
	return by, false
}

// HasAdminToken says whether there is one that could be shown.
func (c *Control) HasAdminToken() bool { return c.policy.Load().admin != nil }

// Known refuses a caller that comes over the network and has neither a certificate nor a
// token: CodeNoSession.
func (c *Control) Known(by Caller) error {
	p := c.policy.Load()
	if !by.Remote() || len(by.certs) > 0 || p.has(by) || p.administers(by) {
		return nil
	}
	return &session.Error{
		Code: session.CodeNoSession,
		Detail: "over the network the gateway answers only those whom it knows, and this request has no certificate and no " +
			"token that it knows: send an access token as Authorization: Bearer, the token of a session that was opened with one, or use a client certificate",
	}
}

// May returns an error if by lacks that right for name: CodeForbidden. The error tells by's
// own rules, and nobody else's.
func (c *Control) May(by Caller, right Right, name string) error {
	if c.Sees(by, right, name) {
		return nil
	}
	p := c.policy.Load()
	var own []string
	for _, r := range p.rules {
		if p.concerns(by, r) {
			own = append(own, fmt.Sprintf("rule %d allows %s of %s", r.number, r.right, strings.Join(r.Locks, ", ")))
		}
	}
	e := &session.Error{Code: CodeForbidden, Lock: name}
	switch {
	case right == Admin && p.admin == nil:
		e.Detail = "only an administrator may, and this gateway has no admin token (admin.token_file is not set): " +
			"use a Unix socket as root or as the gateway's own user"
	case right == Admin && by.stray:
		e.Detail = "only an administrator may, and the token that was sent is not the admin token: " +
			"it is in the file of admin.token_file"
	case right == Admin:
		e.Detail = "only an administrator may: send the admin token, or use a Unix socket as root or as the gateway's own user"
	case by.token != "" && !p.has(by):
		e.Detail = fmt.Sprintf("the access token that you (%s) have shown, or opened the session with, was removed or replaced since: show the present one", by)
	case len(own) == 0:
		e.Detail = fmt.Sprintf("no rule of access.rules is about you (%s)", by)
	default:
		e.Detail = fmt.Sprintf("you (%s) may not %s it; of access.rules, %s", by, right, strings.Join(own, "; "))
	}
	return e
}

// Sees is May as a bool, without the reason.
func (c *Control) Sees(by Caller, right Right, name string) bool {
	return c.policy.Load().any(by, right, func(r rule) bool { return r.covers(name) })
}

// Some says whether by has that right for at least one name.
func (c *Control) Some(by Caller, right Right) bool {
	return c.policy.Load().any(by, right, func(rule) bool { return true })
}

// Restrict narrows q to what by administers. CodeForbidden, if by administers nothing.
func (c *Control) Restrict(by Caller, q *session.Query) error {
	if !c.Some(by, Admin) {
		return c.May(by, Admin, "")
	}
	if !c.Sees(by, Admin, "") {
		q.Sees = func(lock string) bool { return c.Sees(by, Admin, lock) }
	}
	return nil
}

func (p *policy) any(by Caller, right Right, covers func(rule) bool) bool {
	if len(p.rules) == 0 && right < Admin || p.administers(by) {
		return true
	}
	return slices.ContainsFunc(p.rules, func(r rule) bool { return r.right >= right && covers(r) && p.concerns(by, r) })
}

func (p *policy) concerns(by Caller, r rule) bool {
	return slices.ContainsFunc(r.who, func(who principal) bool { return p.is(by, who) })
}

// administers tells whether by has all rights: root, the user of this process and whoever
// shows the admin token have, so that no rule can lock them out.
func (p *policy) administers(by Caller) bool {
	if by.via == viaUnix && (by.peer.UID == 0 || by.peer.UID == os.Geteuid()) {
		return true
	}
	return by.admin != nil && p.admin != nil && *by.admin == *p.admin
}
