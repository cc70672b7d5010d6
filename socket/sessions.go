package socket

import (
	"cmp"
	"strings"
	"time"

	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/session/access"
	"github.com/lockgw/lockgw/session/peer"
)

const (
	// defaultUser is the only user name; the token says who somebody is.
	defaultUser = "default"
	// maxFailures is how many wrong tokens end a connection, so that guessing takes longer.
	maxFailures = 10
)

func sessionCommands() []command {
	return []command{
		{
			name: "SESSION", least: 1, most: 9, slow: true, run: sessionCommand,
			args: "NEW [KEEPALIVE seconds] [BIND pid:n] [ONELOCK] | ATTACH token | SHOW pid:n | INFO | END | " +
				"LIST [PREFIX p] [CURSOR c] [COUNT n] [TOKEN admin-token] | KILL id [TOKEN admin-token] | KILL USER user [TOKEN admin-token]",
			summary: "Opens, joins, shows or ends the session that holds this connection's locks. For administrators: lists all sessions, ends another's or all of a user.",
		},
		{
			name: "AUTH", least: 1, most: 2, run: auth,
			args:    "[default] token",
			summary: "Joins the session of a token; an access token says who the caller is.",
		},
	}
}

func sessionCommand(c *conn, args []string) error {
	sub, rest := strings.ToUpper(args[1]), args[2:]
	switch {
	case sub == "NEW":
		return sessionNew(c, rest)
	case sub == "ATTACH" && len(rest) == 1:
		return authenticate(c, rest[0])
	case sub == "SHOW" && len(rest) == 1:
		return sessionShow(c, rest)
	case sub == "INFO" && len(rest) == 0:
		return sessionInfo(c)
	case sub == "END" && len(rest) == 0:
		return sessionEnd(c)
	case sub == "LIST":
		return sessionList(c, rest)
	case sub == "KILL" && len(rest) > 0:
		return sessionKill(c, rest)
	case sub == "ATTACH", sub == "SHOW", sub == "INFO", sub == "END", sub == "KILL":
		return wrongArguments("session|" + sub)
	default:
		return session.Invalid("subcommand", "%s is not one of NEW, ATTACH, SHOW, INFO, END, LIST, KILL", session.Quote(args[1]))
	}
}

func sessionNew(c *conn, args []string) error {
	var so session.Options
	pid := 0
	o := options{args: args}
	for o.next() {
		switch {
		case o.is("KEEPALIVE"):
			so.Keepalive = o.span()
		case o.is("BIND"):
			pid = o.process()
		case o.is("ONELOCK"):
			so.OneLock = true
		default:
			o.unknown()
		}
	}
	if o.err != nil {
		return o.err
	}
	if err := c.allow(access.Lock); err != nil { // before a process is looked at
		return err
	}
	switch {
	case pid != 0:
		var err error
		if so.Alive, so.Process, err = c.srv.cfg.Descriptors.Bind(c.nc, c.accepted, c.peer, pid); err != nil {
			return err
		}
	case so.Keepalive == 0:
		so.Keepalive = c.srv.cfg.Manager.Config().Session.Keepalive
	}
	token, err := c.open(so)
	if err != nil {
		return err
	}
	c.w.Bulk(token.Secret())
	return nil
}

// sessionShow sets the process that people are shown as the holder.
func sessionShow(c *conn, args []string) error {
	o := options{args: append([]string{"SHOW"}, args...)}
	o.next()
	pid := o.process()
	if o.err != nil {
		return o.err
	}
	s := c.joined
	if s == nil {
		return &session.Error{Code: session.CodeNoSession, Detail: "this connection has no session"}
	}
	if err := s.Err(); err != nil {
		return err
	}
	p, err := peer.Named(pid, c.peer)
	if err != nil {
		return err
	}
	s.Show(p)
	c.w.Simple("OK")
	return nil
}

// sessionInfo tells the token only where it has just been made: it is not kept
// in a form that could be told later.
func sessionInfo(c *conn) (err error) {
	var token session.Token
	if c.joined == nil {
		if err := c.allow(access.Lock); err != nil {
			return err
		}
		if token, err = c.open(session.Options{}); err != nil {
			return err
		}
	}
	s := c.joined
	views, err := s.Views()
	if err = cmp.Or(s.Err(), err); err != nil {
		return err
	}
	c.w.Map(8)
	c.pair("id", s.ID())
	c.pairOrNull("token", token.Secret())
	c.pair("uuid", s.UUID())
	c.pair("name", s.Options().Name)
	c.pairInt("keepalive_ms", s.Options().Keepalive.Milliseconds())
	c.pairTime("since", s.Since())
	c.writeHolds(views)
	c.writeWaits(s.Waits())
	return nil
}

func (c *conn) writeWaits(waits []session.Wait) {
	c.w.Bulk("queues")
	c.w.Array(len(waits))
	for _, w := range waits {
		c.w.Map(4)
		c.pair("name", w.Name)
		c.pairInt("thread", w.Thread)
		c.pairTime("since", w.Since)
		c.pairInt("waited_ms", age(w.Since, time.Now()).Milliseconds())
	}
}

func (c *conn) writeHolds(views []session.View) {
	c.w.Bulk("locks")
	c.w.Array(len(views))
	for _, v := range views {
		c.w.Map(viewPairs)
		c.viewPairs(v)
	}
}

func sessionEnd(c *conn) error {
	s := c.joined
	if s == nil {
		return &session.Error{Code: session.CodeNoSession, Detail: "this connection has no session"}
	}
	s.End(c.ctx, "ended by its client")
	c.leave("ended by its client")
	c.w.Simple("OK")
	return nil
}

func auth(c *conn, args []string) error {
	if len(args) == 3 && args[1] != defaultUser {
		return session.Invalid("user", "is always %q", defaultUser)
	}
	return authenticate(c, args[len(args)-1])
}

func authenticate(c *conn, token string) error {
	if err := c.identify(token); err != nil {
		return err
	}
	c.w.Simple("OK")
	return nil
}

// identify joins the session of token, or counts the failure. An access token says
// who the caller is from now on, and joins none.
func (c *conn) identify(token string) error {
	if by, shown := c.srv.cfg.Access.Show(c.by, token); shown {
		c.by = by
		c.subs.adapt(c)
		return nil
	}
	err := c.join(token)
	if session.CodeOf(err) == session.CodeNoSession {
		c.guessed()
	}
	return err
}

// guessed counts a token that nobody has, whatever command it came with.
func (c *conn) guessed() {
	if c.failures++; c.failures >= maxFailures {
		c.goodbye = true
	}
}
