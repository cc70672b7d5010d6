package socket

import (
	"github.com/lockgw/lockgw/session"
)

// detach leaves the session, which ends if this was what it lived by.
func (c *conn) detach(reason string) {
	if c.joined != nil {
		c.joined.Detach(reason)
	}
	c.joined = nil
}

// session is the connection's session, opened if there is none: only then there is a token
// to tell.
func (c *conn) session() (*session.Session, session.Token, error) {
	if c.joined != nil {
		return c.joined, "", nil
	}
	token, err := c.open(session.Options{})
	return c.joined, token, err
}

// holding is the connection's session, if it has any and could thus hold name.
func (c *conn) holding(name string) (*session.Session, error) {
	if c.joined == nil {
		return nil, &session.Error{Code: session.CodeNotOwner, Lock: name, Detail: "this connection holds nothing"}
	}
	return c.joined, nil
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
	if s == c.joined {
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
	s := c.joined
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
	c.detach("joined another session")
	c.joined = s
	c.watchHolds()
	return nil
}

// leave is detach, and nothing more is heard of the session.
func (c *conn) leave(reason string) {
	c.srv.alarms.remove(c)
	c.detach(reason)
}

// watchHolds has pushes sent about holds in trouble, if the client understands pushes.
func (c *conn) watchHolds() {
	if c.joined != nil && c.w.RESP3 {
		c.srv.alarms.add(c, c.joined.ID())
		return
	}
	c.srv.alarms.remove(c)
}
