package socket

import "github.com/lockgw/lockgw/session/access"

// allow returns an error if the caller lacks the right for one of the names, or sends too
// many requests.
func (c *conn) allow(right access.Right, names ...string) error {
	if err := c.srv.cfg.Access.Spend(c.by, c.sessionID()); err != nil {
		return err
	}
	for _, name := range names {
		if err := c.srv.cfg.Access.May(c.by, right, name); err != nil {
			return err
		}
	}
	return nil
}

func (c *conn) sees(name string) bool { return c.srv.cfg.Access.Sees(c.by, access.Inspect, name) }

func (c *conn) sessionID() string {
	if c.joined == nil {
		return ""
	}
	return c.joined.ID()
}
