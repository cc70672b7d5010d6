// Package quorumtest is what the tests of the tables over etcd and ZooKeeper do with one: a
// node that hears, and asks again until a majority answers.
package quorumtest

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

// Patience is how long a busy machine may take for what has to come.
const Patience = time.Minute

// Client is a Table that listens, and what was told to it.
type Client struct {
	ledger.Table
	Resync atomic.Int64          // how often it was told that it may have missed something
	Told   chan ledger.Addressed // all else

	t *testing.T
}

// Listen has a table listen. It is closed with the test.
func Listen(t *testing.T, table ledger.Table) *Client {
	t.Helper()
	c := &Client{Table: table, t: t, Told: make(chan ledger.Addressed, 10_000)}
	c.Listen(func(m ledger.Addressed) {
		if m.Kind == ledger.Resync {
			c.Resync.Add(1)
			return
		}
		c.Told <- m
	})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// Node is that of the table, where both are embedded.
func (c *Client) Node() string { return c.Table.Node() }

// Ask does op to what is there now, until there is an answer.
func (c *Client) Ask(name string, op ledger.Op) ledger.Reply {
	c.t.Helper()
	var last error
	for end := time.Now().Add(Patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		r, err := c.Try(name, op)
		if err == nil && r.Written {
			return r
		}
		last = err
	}
	c.t.Fatalf("no answer in %v: %v", Patience, last)
	return ledger.Reply{}
}

// Try does op to what is there now, once, and waits three seconds for that. A lease lasts for a
// second unless op says for how long.
func (c *Client) Try(name string, op ledger.Op) (ledger.Reply, error) {
	ctx, cancel := context.WithTimeout(c.t.Context(), 3*time.Second)
	defer cancel()
	r, err := c.Look(ctx, name)
	if err != nil {
		return r, err
	}
	op.Node, op.Turns, op.OfferTTL = c.Node(), 1, time.Second
	if op.TTL == 0 {
		op.TTL = time.Second
	}
	if h := r.Record.Firm(c.Node()); op.Verb == ledger.Leave && h != nil {
		op.Hold = h.ID
	}
	next, effects := ledger.Step(r.Record, op, 0)
	return c.Swap(ctx, ledger.Swap{Name: name, Base: r.Version, Record: next, Effects: effects})
}

// Take has the node hold a name for a second.
func (c *Client) Take(name string) ledger.Reply {
	c.t.Helper()
	return c.TakeFor(name, time.Second)
}

// TakeFor has the node hold a name for so long, once it is granted.
func (c *Client) TakeFor(name string, ttl time.Duration) ledger.Reply {
	c.t.Helper()
	for end := time.Now().Add(Patience); ; time.Sleep(20 * time.Millisecond) {
		r := c.Ask(name, ledger.Op{Want: 1, Lapse: true, TTL: ttl})
		if r.Record.Firm(c.Node()) != nil {
			return r
		}
		if time.Now().After(end) {
			c.t.Fatalf("%s was not granted: %+v", name, r)
		}
	}
}

// Leave gives a name back.
func (c *Client) Leave(name string) { c.t.Helper(); c.Ask(name, ledger.Op{Verb: ledger.Leave}) }

// RenewFor has one hold last for so long from now on.
func (c *Client) RenewFor(name string, id backend.Fence, ttl time.Duration) error {
	c.t.Helper()
	errs, err := c.Renew(c.t.Context(), []ledger.Renewal{{Name: name, ID: id, TTL: ttl}})
	if err != nil {
		return err
	}
	return errs[0]
}

// Hears waits until the node is told a message of that kind.
func (c *Client) Hears(k ledger.Kind) ledger.Addressed {
	c.t.Helper()
	for end := time.After(Patience); ; {
		select {
		case m := <-c.Told:
			if m.Kind == k {
				return m
			}
		case <-end:
			c.t.Fatalf("%s is not told %d", c.Node(), k)
		}
	}
}

// Reach sends to another one until that hears it: it may begin anew to listen just then.
func (c *Client) Reach(to *Client) {
	c.t.Helper()
	for end := time.Now().Add(Patience); time.Now().Before(end); {
		m := ledger.Addressed{Name: "reach", Message: ledger.Message{Node: to.Node(), Kind: ledger.Tell}}
		if err := c.Send(c.t.Context(), []ledger.Addressed{m}); err == nil && to.reached() {
			return
		}
	}
	c.t.Fatalf("%s does not hear %s", to.Node(), c.Node())
}

// reached: it has heard what Reach sends, soon after that.
func (c *Client) reached() bool {
	for wait := time.After(200 * time.Millisecond); ; {
		select {
		case got := <-c.Told:
			if got.Name == "reach" {
				return true
			}
		case <-wait:
			return false
		}
	}
}
