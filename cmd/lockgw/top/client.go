package top

import (
	"cmp"
	"context"
	"slices"
	"strings"
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

// order is a key and what it sorts by.
type order struct {
	key, by string
	query   client.LockQuery // has the gateway sort so, of more locks than are shown
	compare func(a, b client.Status) int
}

var orders = []order{
	{"n", "name", client.LockQuery{Sort: "name", Order: "asc"}, func(_, _ client.Status) int { return 0 }},
	{"h", "time held", client.LockQuery{Sort: "held", Order: "desc"}, func(a, b client.Status) int { return knownFirst(sinceOf(a).UnixNano(), sinceOf(b).UnixNano()) }},
	{"l", "lease", client.LockQuery{Sort: "lease", Order: "asc"}, func(a, b client.Status) int { return knownFirst(int64(a.TTL), int64(b.TTL)) }},
	{"w", "waiters", client.LockQuery{Sort: "waiters", Order: "desc"}, func(a, b client.Status) int { return cmp.Compare(b.Waiters, a.Waiters) }},
	{"f", "fence", client.LockQuery{Sort: "fence", Order: "desc"}, func(a, b client.Status) int { return cmp.Compare(b.Fence, a.Fence) }},
}

// knownFirst compares numbers of which those up to 0 mean that nothing is known,
// as of the time of a lock that is free.
func knownFirst(a, b int64) int {
	if (a > 0) != (b > 0) {
		return cmp.Compare(b, a)
	}
	return cmp.Compare(a, b)
}

// sort keeps names in their order where nothing else decides.
func (o order) sort(all []client.Status) {
	slices.SortFunc(all, func(a, b client.Status) int {
		return cmp.Or(o.compare(a, b), strings.Compare(a.Name, b.Name))
	})
}
