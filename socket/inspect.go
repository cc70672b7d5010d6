package socket

import (
	"time"

	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/session/access"
)

func lockInfo(c *conn, args []string) error {
	if err := session.CheckName(args[1]); err != nil {
		return err
	}
	if err := c.allow(access.Inspect, args[1]); err != nil {
		return err
	}
	st, err := c.srv.cfg.Manager.Inspect(c.ctx, args[1])
	if err != nil {
		return err
	}
	c.writeStatus(st)
	return nil
}

const viewPairs = 13

// viewPairs writes a hold, with the keys of the HTTP body.
func (c *conn) viewPairs(v session.View) {
	c.pair("name", v.Name)
	c.pair("state", string(v.State))
	c.pair("owner", string(v.Owner))
	c.pairInt("thread", v.Thread)
	c.pairInt("count", int64(v.Count))
	c.pairInt("fence", int64(v.Fence))
	c.pairInt("ttl_ms", v.Left.Milliseconds())
	c.pairTime("expires_at", v.Expires)
	c.pairInt("valid_until_boottime_ns", v.Deadline.Nanoseconds())
	c.pairTime("max_hold_at", v.MaxHoldAt)
	c.pairBool("auto_renew", v.AutoRenew)
	c.pair("note", v.Note)
	c.pairTime("since", v.Since)
}

// writeStatus writes what is known of a name, with the keys of the HTTP body.
func (c *conn) writeStatus(st session.Status) {
	c.w.Map(16)
	c.pair("name", st.Name)
	c.pair("state", string(st.State))
	mode := ""
	if st.State == session.StateHeld {
		mode = st.Mode.String()
	}
	c.pairOrNull("mode", mode)
	c.pairInt("holders", int64(st.Holders))
	c.pairInt("limit", int64(st.Mode.Limit()))
	c.pairHolder("holder", st.Holder)
	c.pairInt("waiters", int64(st.Waiters))
	c.pairBool("waiters_at_least", st.MoreWait)
	c.pairHolder("next", st.Next) // without owner: a caller of another node
	c.w.Bulk("queue")
	c.w.Array(len(st.Queue))
	for _, h := range st.Queue {
		c.writeHolder(h)
	}
	c.pairInt("ahead", int64(st.Ahead))
	c.pairInt("fence", int64(st.Fence))
	c.pairInt("ttl_ms", st.TTL.Milliseconds())
	c.pair("trouble", st.Trouble)
	c.w.Bulk("holders_list")
	c.w.Array(len(st.Shares))
	for _, s := range st.Shares {
		c.w.Map(holderPairs + 2)
		c.holderPairs(s.Holder)
		c.pairInt("fence", int64(s.Fence))
		c.pairInt("ttl_ms", s.TTL.Milliseconds())
	}
	c.w.Bulk("silent")
	c.w.Array(len(st.Silent))
	for _, n := range st.Silent {
		c.w.Map(2)
		c.pair("node", n.Node)
		c.pairTime("as_of", n.AsOf)
	}
}

// pairHolder: nil is null.
func (c *conn) pairHolder(key string, h *session.Holder) {
	c.w.Bulk(key)
	if h == nil {
		c.w.Null()
		return
	}
	c.writeHolder(*h)
}

const holderPairs = 10

func (c *conn) writeHolder(h session.Holder) {
	c.w.Map(holderPairs)
	c.holderPairs(h)
}

func (c *conn) holderPairs(h session.Holder) {
	c.pair("owner", string(h.Owner))
	c.pair("node", h.Node)
	c.pair("session", h.Session)
	c.peerPairs(h.Peer)
	c.w.Bulk("asked_by")
	if h.AskedBy == nil {
		c.w.Null()
	} else {
		c.w.Map(peerPairs)
		c.peerPairs(*h.AskedBy)
	}
	c.pair("note", h.Note)
	c.pairTime("since", h.Since)
	c.pairInt("held_ms", age(h.Since, time.Now()).Milliseconds())
}

const peerPairs = 3

func (c *conn) peerPairs(p session.Peer) {
	c.pairKnown("pid", p.PID, p.PID > 0)
	c.pairKnown("uid", p.UID, p.UID >= 0)
	c.pair("command", p.Command)
}

// age of a holder then, or how long a waiter had waited.
func age(since, then time.Time) time.Duration {
	if since.IsZero() {
		return 0
	}
	return max(0, then.Sub(since)) // the clock of another node may be ahead
}

func (c *conn) pair(key, value string) {
	c.w.Bulk(key)
	c.w.Bulk(value)
}

func (c *conn) pairInt(key string, n int64) {
	c.w.Bulk(key)
	c.w.Int(n)
}

func (c *conn) pairKnown(key string, n int, known bool) {
	c.w.Bulk(key)
	if !known {
		c.w.Null()
		return
	}
	c.w.Int(int64(n))
}

func (c *conn) pairBool(key string, b bool) {
	c.w.Bulk(key)
	c.w.Bool(b)
}

// pairOrNull writes null for "".
func (c *conn) pairOrNull(key, value string) {
	c.w.Bulk(key)
	if value == "" {
		c.w.Null()
		return
	}
	c.w.Bulk(value)
}

func (c *conn) pairNames(key string, names []string) {
	c.w.Bulk(key)
	c.writeNames(names)
}

func (c *conn) writeNames(names []string) {
	c.w.Array(len(names))
	for _, name := range names {
		c.w.Bulk(name)
	}
}

// pairTime writes a time in RFC 3339, null for none.
func (c *conn) pairTime(key string, t time.Time) {
	c.w.Bulk(key)
	if t.IsZero() {
		c.w.Null()
		return
	}
	c.w.Bulk(t.UTC().Format(time.RFC3339Nano))
}
