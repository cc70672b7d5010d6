package redis

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/redis/conn"
)

// look finds out about a server before a request meets it, so that those who give a
// name back on it are heard as witnesses. A *backend.Later says that it is in
// quarantine, any other error that it does not say who it is. unused is as for met.
func (g *guard) look(ctx context.Context, c *goredis.Client, unused bool) error {
	id, err := idOf(ctx, c)
	switch {
	case errors.Is(err, errReplica):
		return err
	case err != nil:
		return fmt.Errorf("answers, but not who it is: %w", err)
	case id == noServer:
		return nil
	}
	err = g.met(ctx, c, id, unused)
	if err != nil && !quarantined(err) {
		return fmt.Errorf("answers, but not whether it is trusted: %w", err)
	}
	return err
}

var errUnknownServer = fmt.Errorf("%w: Redis answers, but has not said yet who it is; ask again", backend.ErrRefused)

// lookTimeout has room for a server that hangs in each step.
const lookTimeout = 4 * conn.IOTimeout

// lookAtServers finds out about all servers before the requests meet them, again or for
// the first time alone.
func (b *site) lookAtServers(again bool) {
	if b.cfg.Guard != GuardQuarantine || !again && b.guard.looked.Load() {
		return
	}
	b.guard.looking.Lock()
	defer b.guard.looking.Unlock()
	first := !b.guard.looked.Load()
	if !first && !again {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookTimeout)
	defer cancel()
	masters, err := b.servers.Masters(ctx)
	if err != nil {
		return
	}
	unused := first && b.guard.unused(ctx, masters) && (b.cfg.Unused == nil || b.cfg.Unused(ctx))
	_ = conn.Each(masters, func(_ int, c *goredis.Client) error { // Ping tells
		ctx, cancel := context.WithTimeout(ctx, conn.IOTimeout)
		defer cancel()
		err := b.guard.look(ctx, c, unused)
		if err == nil || quarantined(err) || errors.Is(err, errReplica) {
			b.guard.looked.Store(true)
		}
		return err
	})
}

// unused: this gateway knows of no server yet, and no gateway has left its mark on any of
// these. They are new together then: a cluster may have many that nobody has used.
func (g *guard) unused(ctx context.Context, all []*goredis.Client) bool {
	g.mu.Lock()
	past := len(g.trusted)+len(g.strange) > 0
	g.mu.Unlock()
	var used atomic.Bool
	_ = conn.Each(all, func(_ int, c *goredis.Client) error { // one that does not answer is not trusted now either
		ctx, cancel := context.WithTimeout(ctx, conn.IOTimeout)
		defer cancel()
		_, marked, err := mark(ctx, c)
		if marked != "" {
			used.Store(true)
		}
		return err
	})
	return !past && !used.Load()
}

// Unused: all servers answer, and no gateway has left its mark on any.
func (t *Table) Unused(ctx context.Context) bool {
	masters, err := t.servers.Masters(ctx)
	return err == nil && conn.Each(masters, func(_ int, c *goredis.Client) error {
		_, marked, err := mark(ctx, c)
		if err == nil && marked != "" {
			err = errUsed
		}
		return err
	}) == nil
}

var errUsed = errors.New("a gateway has used the server")
