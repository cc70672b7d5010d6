package socket

import (
	"math"
	"time"

	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/session/access"
	"github.com/lockgw/lockgw/session/peer"
)

func lockCommands() []command {
	return []command{
		{
			name: "LOCK", least: 1, most: anyNumber, slow: true, run: lock,
			args:    "name [WAIT seconds] [TTL seconds] [THREAD n] [SHARED | LIMIT n] [MAXHOLD seconds] [NOTE text] [REQ id] [FULL]",
			summary: "Acquires a lock, or enters it again, and returns its fence; null if others have it for all of WAIT.",
		},
		{
			name: "UNLOCK", least: 1, most: anyNumber, slow: true, run: unlock,
			args:    "name [THREAD n] [ALL] [REQ id]",
			summary: "Gives up one entry of a lock, or all, and returns how many are left.",
		},
		{
			name: "RENEW", least: 1, most: anyNumber, slow: true, run: renew,
			args:    "name [TTL seconds] [THREAD n]",
			summary: "Renews the lease of a lock and returns for how many milliseconds it may be relied on.",
		},
		{
			name: "LOCKINFO", least: 1, most: 1, slow: true, run: lockInfo,
			args:    "name",
			summary: "Tells who holds a lock and who waits for it.",
		},
		{
			name: "LOCKS", most: anyNumber, slow: true, run: locks,
			args: "[PREFIX prefix] [CONTAINS text] [STATE held | free | waited] [SORT name | holder | held | lease | waiters | fence] " +
				"[ORDER asc | desc] [COUNT n] [PAGE cursor]",
			summary: "Lists the locks that are held or waited for.",
		},
	}
}

type lockRequest struct {
	name    string
	acquire session.Acquire
	full    bool
	token   session.Token // of the session that was opened for it, if it is to be told
	untold  session.Grant // what was granted and has to be given back; without a Lease: nothing
}

func parseLock(args []string) (q lockRequest, err error) {
	q.name = args[1]
	o := ofLock(args)
	for o.next() {
		switch {
		case o.is("WAIT"):
			q.acquire.Wait = o.seconds()
		case o.is("TTL"):
			q.acquire.TTL = o.span()
		case o.is("THREAD"):
			q.acquire.Thread = o.number(math.MaxInt64)
		case o.is("SHARED"):
			q.acquire.Shared = true
		case o.is("LIMIT"):
			q.acquire.Limit = int(o.number(session.MaxLimit))
		case o.is("MAXHOLD"):
			q.acquire.MaxHold = o.span()
		case o.is("NOTE"):
			q.acquire.Note = o.text()
		case o.is("REQ"):
			q.acquire.Key = o.id()
		case o.is("FULL"):
			q.full = true
		default:
			o.unknown()
		}
	}
	if o.err == nil && q.acquire.Shared && q.acquire.Limit != 0 {
		return q, session.Invalid("limit", "cannot be given together with shared")
	}
	return q, o.err
}

func lock(c *conn, args []string) error {
	q, err := parseLock(args)
	if err != nil {
		return err
	}
	if err := c.allow(access.Lock, q.name); err != nil {
		return err
	}
	s, token, err := c.session()
	if err != nil {
		return err
	}
	if q.full {
		q.token = token
	}
	g, w, err := s.BeginAcquire(c.ctx, q.name, q.acquire)
	if w != nil {
		return c.park(s, w, q)
	}
	defer c.giveBack(s, &q)
	return c.writeLock(s, &q, g, err)
}

// writeLock answers q, of which g or err has come. giveBack has to come after it.
func (c *conn) writeLock(s *session.Session, q *lockRequest, g session.Grant, err error) error {
	if code := session.CodeOf(err); err != nil && (code == session.CodeLocked || code == session.CodeWaitTimeout) {
		c.w.Null()
		return nil
	}
	if err != nil {
		return err
	}
	// A client whose request has an id asks again to learn the outcome, so its lock stays.
	if q.acquire.Key == "" {
		q.untold = g
	}
	// One goroutine alone reads too late to know; a session that ends with the connection need not.
	if q.untold.Lease != nil && s.Outlives() && peer.HungUp(c.nc) {
		c.cancel()
	}
	if err := c.ctx.Err(); err != nil {
		return err
	}
	if !c.out.open() {
		return errDeaf
	}
	if err = c.writeGrant(g.Lease, q); err == nil {
		q.untold = session.Grant{}
	}
	return err
}

// giveBack gives back what was granted for q if nobody was told: the client is gone, the gateway
// stops and leaves it to the next process, or writeLock has panicked. A session with other
// connections lives on, so the end of this connection does not release the lock.
func (c *conn) giveBack(s *session.Session, q *lockRequest) {
	if q.untold.Lease != nil {
		s.GiveBack(c.ctx, []session.Grant{q.untold})
	}
}

func (c *conn) writeGrant(l *session.Lease, q *lockRequest) error {
	v, err := l.View()
	if err != nil {
		return err
	}
	if q.full {
		c.w.Map(viewPairs + 1)
		c.viewPairs(v)
		c.pairOrNull("token", q.token.Secret())
		return nil
	}
	c.w.Int(int64(v.Fence))
	return nil
}

func unlock(c *conn, args []string) error {
	name, thread, all, key := args[1], int64(0), false, ""
	o := ofLock(args)
	for o.next() {
		switch {
		case o.is("THREAD"):
			thread = o.number(math.MaxInt64)
		case o.is("ALL"):
			all = true
		case o.is("REQ"):
			key = o.id()
		default:
			o.unknown()
		}
	}
	if o.err != nil {
		return o.err
	}
	s, err := c.holding(name)
	held := err == nil
	if held {
		_, none := s.Lease(name, thread)
		held = none == nil
	}
	if limit := c.srv.cfg.Access.SpendBack(c.by, c.sessionID(), held); limit != nil {
		return limit
	}
	if err != nil {
		return err
	}
	r, err := s.Release(c.ctx, name, thread, all, key)
	switch {
	case err != nil:
		return err
	case r.Pending:
		return pending(name, r)
	}
	c.w.Int(int64(r.Count))
	return nil
}

func pending(name string, r session.Released) error {
	return &session.Error{
		Code: session.CodeUnavailable, Lock: name,
		Detail: "renewing has stopped, but the store has not confirmed the release; the lock is free in " +
			r.FreeBy.Round(time.Millisecond).String() + " at the latest",
	}
}

func renew(c *conn, args []string) error {
	name, thread, ttl := args[1], int64(0), time.Duration(0)
	o := ofLock(args)
	for o.next() {
		switch {
		case o.is("THREAD"):
			thread = o.number(math.MaxInt64)
		case o.is("TTL"):
			ttl = o.span()
		default:
			o.unknown()
		}
	}
	if o.err != nil {
		return o.err
	}
	s, err := c.holding(name)
	if err != nil {
		return err
	}
	lease, err := s.Renew(c.ctx, name, thread, ttl)
	if err != nil {
		return err
	}
	v, err := lease.View()
	if err != nil {
		return err
	}
	c.w.Int(v.Left.Milliseconds())
	return nil
}
