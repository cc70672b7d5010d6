package top

import (
	"context"
	"sync"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/socket/client"
)

// client is the gateway as top sees it. A gateway that is started again is
// found again.
type connection struct {
	o     *options
	token string // of the administrator

	mu     sync.Mutex // guards client, and lets one request at a time go on
	client *client.Client
}

func (c *connection) locks(ctx context.Context, q client.LockQuery) (page client.LockPage, err error) {
	err = c.use(ctx, func(client *client.Client) error {
		page, err = client.Locks(ctx, q)
		return err
	})
	return page, err
}

func (c *connection) breakLock(ctx context.Context, st client.Status) error {
	owner := ""
	if st.Holder != nil {
		owner = st.Holder.Owner
	}
	return c.use(ctx, func(client *client.Client) error { return client.Break(ctx, st.Name, st.Fence, owner, c.token) })
}

func (c *connection) use(ctx context.Context, f func(*client.Client) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.client.Err() != nil {
		client, err := c.o.Dial(ctx, client.Options{Patience: cli.AnswerTimeout})
		if err != nil {
			return err
		}
		_ = c.client.Close()
		c.client = client
	}
	return f(c.client)
}

func (c *connection) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.client.Close()
}

// order is a key, and what the gateway sorts by then: all locks, of which the first are shown.
type order struct {
	key, by string
	query   client.LockQuery
}

var orders = []order{
	{"n", "name", client.LockQuery{Sort: "name", Order: "asc"}},
	{"h", "time held", client.LockQuery{Sort: "held", Order: "desc"}},
	{"l", "lease", client.LockQuery{Sort: "lease", Order: "asc"}},
	{"w", "waiters", client.LockQuery{Sort: "waiters", Order: "desc"}},
	{"f", "fence", client.LockQuery{Sort: "fence", Order: "desc"}},
}
