package socket

import (
	"math"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/session/access"
)

func adminCommands() []command {
	return []command{{
		name: "BREAK", least: 3, most: 7, slow: true, run: breakLock,
		args:    "name FENCE n [OWNER owner] [TOKEN admin-token]",
		summary: "Takes a lock from whoever holds it with that fence, if it is that owner. For administrators.",
	}}
}

func breakLock(c *conn, args []string) error {
	name, fence, owner, token := args[1], int64(-1), "", ""
	o := ofLock(args)
	for o.next() {
		switch {
		case o.is("FENCE"):
			fence = o.decimal(0, math.MaxInt64) // 0: a holder outside lockgw may have none
		case o.is("OWNER"):
			if owner = o.value(); owner == "" && o.err == nil {
				o.fail("OWNER must not be empty")
			}
		case o.is("TOKEN"):
			token = o.value()
		default:
			o.unknown()
		}
	}
	switch {
	case o.err != nil:
		return o.err
	case fence < 0:
		return session.Invalid("fence", "say FENCE and the one that you have seen")
	}
	by, err := c.showing(token)
	if err != nil {
		return err
	}
	if err := c.srv.cfg.Access.May(by, access.Admin, name); err != nil {
		return err
	}
	if err := c.srv.cfg.Manager.Break(c.ctx, name, backend.Fence(fence), backend.Owner(owner), by.String()); err != nil {
		return err
	}
	c.w.Simple("OK")
	return nil
}

// showing is the caller, with the rights of the token that came with the command; "" is no
// token.
func (c *conn) showing(token string) (access.Caller, error) {
	by, shown := c.srv.cfg.Access.Show(c.by, token)
	if token != "" && !shown {
		c.guessed()
		return by, replyError{"NOAUTH", "nobody here has this token; only root, the gateway's own user, or whoever has the admin token may do this"}
	}
	return by, nil
}
