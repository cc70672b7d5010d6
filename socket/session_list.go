package socket

import (
	"fmt"
	"strings"
	"time"

	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/session/access"
)

// sessionList answers with two values, as SCAN does: the cursor of the next page, "" at
// the end, and the sessions. A cursor and a prefix are compared, and never shown.
func sessionList(c *conn, args []string) error {
	q, token := session.Query{Limit: defaultCount}, ""
	o := options{args: args}
	for o.next() {
		switch {
		case o.is("PREFIX"):
			q.Prefix = o.value()
		case o.is("CURSOR"):
			q.After = o.value()
		case o.is("COUNT"):
			q.Limit = int(o.number(maxCount))
		case o.is("TOKEN"):
			token = o.value()
		default:
			o.unknown()
		}
	}
	if o.err != nil {
		return o.err
	}
	by, err := c.showing(token)
	if err != nil {
		return err
	}
	if err := c.srv.cfg.Access.Restrict(by, &q); err != nil {
		return err
	}
	if err := c.srv.cfg.Access.Spend(by, c.sessionID()); err != nil {
		return err
	}
	page, next := c.srv.cfg.Manager.Sessions(q)
	c.w.Array(2)
	c.w.Bulk(next)
	c.w.Array(len(page))
	for _, s := range page {
		c.writeSummary(s)
	}
	return nil
}

// writeSummary writes a session, with the keys of the HTTP body.
func (c *conn) writeSummary(s session.Summary) {
	c.w.Map(19)
	c.pair("id", s.ID)
	c.pair("uuid", s.UUID)
	c.pair("name", s.Name)
	c.w.Bulk("meta")
	c.w.Map(len(s.Meta))
	for k, v := range s.Meta {
		c.pair(k, v)
	}
	c.pairTime("since", s.Since)
	c.peerPairs(s.Peer)
	c.pair("life", string(s.Life))
	c.pairKnown("bound_pid", s.Process, s.Process > 0)
	c.pairInt("connections", int64(s.Conns))
	c.pairInt("ttl_ms", s.TTL.Milliseconds())
	c.pairInt("keepalive_ms", s.Keepalive.Milliseconds())
	c.pairInt("keepalive_left_ms", s.Left.Milliseconds())
	c.pairInt("max_hold_ms", s.MaxHold.Milliseconds())
	c.pairInt("holds", int64(s.Holds))
	c.pairNames("locks", s.Locks)
	c.pairInt("waits", int64(s.Waits))
	c.pairNames("queues", s.Queues)
}

// sessionKill ends the session with an id, or all those of a user.
func sessionKill(c *conn, args []string) error {
	token, ofUser := "", strings.EqualFold(args[0], "USER")
	if ofUser {
		args = args[1:]
	}
	if len(args) == 0 {
		return wrongArguments("session|KILL")
	}
	o := options{args: args[1:]}
	for o.next() {
		if o.is("TOKEN") {
			token = o.value()
		} else {
			o.unknown()
		}
	}
	if o.err != nil {
		return o.err
	}
	by, err := c.showing(token)
	if err != nil {
		return err
	}
	if err := c.srv.cfg.Access.May(by, access.Admin, ""); err != nil {
		return err
	}
	if ofUser {
		return c.killUser(args[0], by)
	}
	e, err := c.srv.cfg.Manager.EndSession(c.ctx, args[0], by.String())
	switch {
	case err != nil:
		return err
	case e.Pending:
		return &session.Error{Code: session.CodeUnavailable, Detail: fmt.Sprintf(
			"the session has ended, but the store has not confirmed that its locks are free; they are after %v at the latest", e.FreeBy.Round(time.Second))}
	}
	c.writeNames(e.Released)
	return nil
}

// killUser answers with how many sessions have ended.
func (c *conn) killUser(text string, by access.Caller) error {
	user, err := session.ParseUser(text)
	if err != nil {
		return err
	}
	e := c.srv.cfg.Manager.EndUser(c.ctx, user, by.String())
	if e.Pending {
		return &session.Error{Code: session.CodeUnavailable, Detail: fmt.Sprintf(
			"%d sessions have ended, but the store has not confirmed that all of their locks are free; they are after %v at the latest",
			e.Sessions, e.FreeBy.Round(time.Second))}
	}
	c.w.Int(int64(e.Sessions))
	return nil
}
