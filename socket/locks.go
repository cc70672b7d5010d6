package socket

import (
	"strings"

	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/session/access"
	"github.com/lockgw/lockgw/session/listing"
)

const (
	defaultCount = 100
	maxCount     = 1000
)

// locks leaves out the names that the caller may not look at, in the counts too.
func locks(c *conn, args []string) error {
	q := listing.Query{Limit: defaultCount, Sees: c.sees}
	paged := false
	o := options{args: args[1:]}
	for o.next() {
		switch {
		case o.is("PREFIX"):
			q.Prefix = o.value()
		case o.is("CONTAINS"):
			q.Contains = o.value()
		case o.is("STATE"):
			q.State = session.State(strings.ToLower(o.value()))
		case o.is("SORT"):
			q.Sort = listing.Order(strings.ToLower(o.value()))
		case o.is("ORDER"):
			q.Order = strings.ToLower(o.value())
		case o.is("COUNT"):
			q.Limit = int(o.number(maxCount))
		case o.is("PAGE"):
			paged, q.Cursor = true, o.value()
		default:
			o.unknown()
		}
	}
	if o.err != nil {
		return o.err
	}
	if err := c.allow(access.Inspect); err != nil {
		return err
	}
	page, err := c.srv.cfg.Lists.List(c.ctx, q)
	if err != nil {
		return err
	}
	if paged {
		c.writePage(page)
		return nil
	}
	n := len(page.Items)
	if page.Incomplete != "" {
		n++
	}
	c.writeItems(n, page.Items)
	if page.Incomplete != "" { // an error in the place of the names that are missing
		c.w.Error(plain(respCodes[session.CodeUnavailable] + " " + page.Incomplete))
	}
	return nil
}

// writePage writes a page, with the keys of the HTTP body.
func (c *conn) writePage(page listing.Page) {
	c.w.Map(4)
	c.w.Bulk("items")
	c.writeItems(len(page.Items), page.Items)
	c.pair("next", page.Next)
	c.w.Bulk("counts")
	c.w.Map(4)
	c.pairInt("locks", int64(page.Counts.Locks))
	c.pairInt("held", int64(page.Counts.Held))
	c.pairInt("waiting", int64(page.Counts.Waiting))
	c.pairBool("at_least", page.Counts.AtLeast)
	c.pair("incomplete", page.Incomplete)
}

func (c *conn) writeItems(n int, all []session.Status) {
	c.w.Array(n)
	for _, st := range all {
		c.writeStatus(st)
	}
}
