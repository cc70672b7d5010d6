package redis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/redis/conn"
	"github.com/lockgw/lockgw/backend/selftest"
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
		return fmt.Errorf("does not say who it is: %w", err)
	case id == noServer:
		return nil
	}
	err = g.met(ctx, c, id, unused)
	if err != nil && !backend.Quarantined(err) {
		return fmt.Errorf("does not say whether it is trusted: %w", err)
	}
	return err
}

var errUnknownServer = fmt.Errorf("%w: Redis answers, but has not said yet who it is; ask again", backend.ErrRefused)

// notLooked says why no look has found out about a server yet.
func (g *guard) notLooked() error {
	if why, ok := g.unknown.Load().(string); ok {
		return fmt.Errorf("%w: Redis %s", backend.ErrRefused, why)
	}
	return errUnknownServer
}

// lookTimeout has room for a server that hangs in each step.
const lookTimeout = 4 * conn.IOTimeout

// lookAtServers finds out about all servers before the requests meet them, again or for
// the first time alone.
func (t *Table) lookAtServers(again bool) {
	if t.cfg.Guard != GuardQuarantine || !again && t.guard.looked.Load() {
		return
	}
	t.guard.looking.Lock()
	defer t.guard.looking.Unlock()
	first := !t.guard.looked.Load()
	if !first && !again {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookTimeout)
	defer cancel()
	masters, err := t.servers.Masters(ctx)
	if err != nil {
		return
	}
	unused := first && t.unused(ctx, masters)
	_ = conn.Each(masters, func(_ int, c *goredis.Client) error { // Ping tells
		ctx, cancel := context.WithTimeout(ctx, conn.IOTimeout)
		defer cancel()
		err := t.guard.look(ctx, c, unused)
		if err == nil || backend.Quarantined(err) || errors.Is(err, errReplica) {
			t.guard.looked.Store(true)
		} else {
			t.guard.unknown.Store(selftest.Reason(err))
		}
		return err
	})
}

// newTogether is how long the marks of servers that are new may come apart, and markEvery
// how often they are looked for meanwhile.
const (
	newTogether = time.Second
	markEvery   = 50 * time.Millisecond
)

// unused: this gateway knows of no server yet, and no gateway has left its mark on any of
// these, or of those with which they are one store. They are new together then: a cluster
// may have many that nobody has used. Where only some have a mark, another gateway may be
// at it just now, so the others are looked at again before they count as empty.
func (t *Table) unused(ctx context.Context, masters []*goredis.Client) bool {
	if t.guard.experienced() {
		return false
	}
	for end := time.Now().Add(newTogether); ; {
		marked, bare := countMarks(ctx, masters)
		switch {
		case marked == 0 && (t.cfg.Unused == nil || t.cfg.Unused(ctx)):
			return true
		case bare == 0, time.Now().After(end):
			return false
		}
		if !backend.Wait(ctx, markEvery) {
			return false
		}
	}
}

// experienced: it knows of servers.
func (g *guard) experienced() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.trusted)+len(g.strange) > 0
}

// countMarks counts the servers on which a gateway has left its mark, and those without. One that
// does not answer is neither: it is not trusted now anyway.
func countMarks(ctx context.Context, masters []*goredis.Client) (marked, bare int32) {
	var with, without atomic.Int32
	_ = conn.Each(masters, func(_ int, c *goredis.Client) error {
		ctx, cancel := context.WithTimeout(ctx, conn.IOTimeout)
		defer cancel()
		_, id, err := mark(ctx, c)
		switch {
		case err != nil:
		case id != "":
			with.Add(1)
		default:
			without.Add(1)
		}
		return nil
	})
	return with.Load(), without.Load()
}

// Unused: all servers answer, and no gateway has left its mark on any. ids are what they are known by.
func (t *Table) Unused(ctx context.Context) (ids string, unused bool) {
	masters, err := t.servers.Masters(ctx)
	if err != nil {
		return "", false
	}
	all := make([]string, len(masters))
	err = conn.Each(masters, func(i int, c *goredis.Client) (err error) {
		if all[i], err = idOf(ctx, c); err != nil {
			return err
		}
		_, marked, err := mark(ctx, c)
		if err == nil && marked != "" {
			err = errUsed
		}
		return err
	})
	return strings.Join(all, " "), err == nil
}

var errUsed = errors.New("a gateway has used the server")
