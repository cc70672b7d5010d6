package socket

import (
	"github.com/lockgw/lockgw/session"
)

// member is a connection's part in a session.
type member struct {
	s     *session.Session // nil: in none
	quiet bool             // the session ends after some time without a command
}

// touch: a command is a sign of life.
func (m member) touch() {
	if m.quiet {
		m.s.Touch()
	}
}

// leave ends the session if this was what it lived by.
func (m *member) leave(reason string) {
	if m.s != nil {
		m.s.Detach(reason)
	}
	*m = member{}
}

// session is the connection's session, opened if there is none: only then there is a token
// to tell.
func (c *conn) session() (*session.Session, session.Token, error) {
	if c.member.s != nil {
		return c.member.s, "", nil
	}
	token, err := c.open(session.Options{})
	return c.member.s, token, err
}

// holding is the connection's session, if it has any and could thus hold name.
func (c *conn) holding(name string) (*session.Session, error) {
	if c.member.s == nil {
		return nil, &session.Error{Code: session.CodeNotOwner, Lock: name, Detail: "this connection holds nothing"}
	}
	return c.member.s, nil
}

// open joins a new session, which lives by its connections unless o says more.
func (c *conn) open(o session.Options) (session.Token, error) {
	o.Conns, o.Peer, o.Account, o.Name = true, c.peer, c.use.Account(), c.name
	c.srv.cfg.Access.Sign(c.by, &o)
	if err := c.mayLeave(); err != nil {
		return "", err
	}
	s, token, err := c.srv.cfg.Manager.Open(o)
	if err != nil {
		return "", err
	}
	return token, c.enter(s)
}

// join joins the session of a token.
func (c *conn) join(token string) error {
	s, err := c.srv.cfg.Manager.Lookup(session.Token(token))
	if err != nil {
		return err
	}
	if s == c.member.s {
		return nil
	}
	if err := c.mayLeave(); err != nil {
		return err
	}
	return c.enter(s)
}

// mayLeave returns an error if leaving the session would release locks: joining another
// session must not do that.
func (c *conn) mayLeave() error {
	s := c.member.s
	if s == nil || !s.Options().EndsWithConns() || s.Err() != nil || len(s.Leases()) == 0 {
		return nil
	}
	return &session.Error{
		Code: session.CodeConflict, Detail: "this connection's session holds locks; UNLOCK them or SESSION END first",
	}
}

func (c *conn) enter(s *session.Session) error {
	if err := s.Attach(); err != nil {
		return err
	}
	c.member.leave("joined another session")
	c.member = member{s: s, quiet: s.Options().Keepalive > 0}
	c.watchHolds()
	return nil
}

// leave leaves the session, which ends it if nothing else keeps it alive.
func (c *conn) leave(reason string) {
	c.srv.alarms.remove(c)
	c.member.leave(reason)
}

// watchHolds has pushes sent about holds in trouble, if the client understands pushes.
func (c *conn) watchHolds() {
	if c.member.s != nil && c.w.RESP3 {
		c.srv.alarms.add(c, c.member.s.ID())
		return
	}
	c.srv.alarms.remove(c)
}
