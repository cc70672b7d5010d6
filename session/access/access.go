// Package access decides who may do what: which caller may lock, look at or
// administer which names, who is known over the network at all, and how often
// somebody may ask. Both fronts ask the same Control.
//
// It decides by what is known of a connection (the user of a Unix socket, a client
// certificate) and by access tokens. Package session is responsible for sessions and their
// tokens: whoever has the token of a session may renew and release what it holds, even if the
// rules have changed since.
//
// Rules can only allow. What no rule allows is refused, and no rule takes away what
// another rule gives, so their order does not matter. Without any rule everybody may lock
// and look at every name.
package access

import (
	"sync/atomic"

	"github.com/lockgw/lockgw/session"
)

// CodeForbidden: the rules do not allow it to this caller.
const CodeForbidden session.Code = "forbidden"

// Config of a Control. The zero value lets everybody lock and look, and has the
// administrators that there always are: root and the user of this process.
type Config struct {
	Rules      []Rule
	Tokens     Tokens // of callers
	AdminToken string // "": there is none
	Rate       Rate
}

// Control answers for the rules in force. It is safe for concurrent use. Use New.
type Control struct {
	policy  atomic.Pointer[policy]
	buckets buckets
}

// policy does not change.
type policy struct {
	rules  []rule
	tokens Tokens
	admin  *hash // nil: there is no admin token
	rate   Rate
}

// New makes a Control. The error is that of Set.
func New(cfg Config) (*Control, error) {
	c := &Control{}
	return c, c.Set(cfg)
}

// Open is a Control without rules and tokens.
func Open() *Control {
	c := &Control{}
	c.policy.Store(&policy{})
	return c
}

// Set puts cfg in place of what was in force, at once and as a whole. An error says
// which rule cannot be understood; then everything stays as it was.
func (c *Control) Set(cfg Config) error {
	p := &policy{tokens: cfg.Tokens, rate: cfg.Rate}
	for i, r := range cfg.Rules {
		compiled, err := r.compile(i + 1)
		if err != nil {
			return err
		}
		p.rules = append(p.rules, compiled)
	}
	if cfg.AdminToken != "" {
		h := hashOf(cfg.AdminToken)
		p.admin = &h
	}
	c.policy.Store(p)
	return nil
}
