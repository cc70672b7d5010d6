package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/redis/conn"
	"github.com/lockgw/lockgw/backend/redis/servers"
	"github.com/lockgw/lockgw/backend/selftest"
)

// Ping implements ledger.Table. A master that cannot grant is an error, and
// ErrPartly where another can, or where it is for a quarantine alone: who has the other
// names, or waits for the quarantine to be over, would be helped by no other gateway.
func (t *Table) Ping(ctx context.Context) error {
	masters, err := t.servers.Masters(ctx)
	if err != nil {
		return fmt.Errorf("redis: %w", err)
	}
	t.lookAtServers(false)
	h, err := t.health(ctx, masters, func(c *goredis.Client) error { return t.serves(ctx, c) })
	if err != nil {
		return fmt.Errorf("redis: %w", err)
	}
	return h.err()
}

// serves returns nil if c may grant the names that it has. Without messages waiters
// are served by timers only, so it asks for these too.
func (t *Table) serves(ctx context.Context, c *goredis.Client) error {
	if err := conn.Outcome(c.Ping(ctx).Err()); err != nil {
		return err
	}
	if err := t.servers.Joined(ctx, c); err != nil {
		return err
	}
	if err := t.subscriber.Deaf(c); err != nil {
		return err
	}
	if t.cfg.Guard != GuardQuarantine {
		if _, err := idOf(ctx, c); errors.Is(err, errReplica) {
			return err
		}
		return t.Try(ctx, c)
	}
	// A server that is restarted before it was looked at would be taken for a new one.
	if !t.guard.looked.Load() {
		return t.guard.notLooked()
	}
	err := t.guard.look(ctx, c, false)
	if err != nil && !backend.Quarantined(err) {
		return err
	}
	if said, err := evictionOf(ctx, c); t.cfg.Voter && err == nil && said.Err() != nil {
		return fmt.Errorf("%w: %w", backend.ErrRefused, said.Err())
	}
	if tried := t.Try(ctx, c); err == nil || errors.Is(tried, selftest.ErrUnsound) {
		return tried
	}
	return err
}

// Part is the master of a cluster that has name now, which may fail alone. It does not
// wait for anything; "" where there is no cluster, or none was found yet.
func (t *Table) Part(ctx context.Context, name string) string {
	return t.servers.Part(ctx, t.cfg.KeyPrefix+name)
}

// health of all masters at one time.
type health struct {
	masters []*goredis.Client
	wrong   []error        // of each
	shares  map[string]int // slots by address; nil: not known, or there are none
}

// health is what ask says of each master; an error if it is hopeless.
func (t *Table) health(ctx context.Context, masters []*goredis.Client, ask func(*goredis.Client) error) (health, error) {
	h := health{masters: masters, wrong: make([]error, len(masters))}
	err := conn.Each(masters, func(i int, c *goredis.Client) error {
		h.wrong[i] = ask(c)
		return h.wrong[i]
	})
	if h.hopeless() {
		return h, err
	}
	h.shares = t.servers.Shares(ctx, h.best())
	return h, nil
}

// best is a master that serves, or the first.
func (h health) best() *goredis.Client {
	for i, err := range h.wrong {
		if err == nil {
			return h.masters[i]
		}
	}
	return h.masters[0]
}

// hopeless: nothing new can be had, nor will by the end of a quarantine.
func (h health) hopeless() bool {
	return !slices.ContainsFunc(h.wrong, func(err error) bool { return err == nil || backend.Quarantined(err) })
}

// err is what is wrong where not all is; a backend.Later if a quarantine is part of it.
func (h health) err() error {
	err := h.lacking()
	left := time.Duration(0)
	for _, wrong := range h.wrong {
		if later, ok := errors.AsType[*backend.Later](wrong); ok {
			left = max(left, later.After)
		}
	}
	if err == nil || left == 0 {
		return err
	}
	return &backend.Later{Err: err, After: left}
}

func (h health) lacking() error {
	var why []string
	for i, err := range h.wrong {
		if err != nil && len(h.masters) > 1 {
			why = append(why, h.masters[i].Options().Addr+": "+selftest.Reason(err))
		} else if err != nil {
			why = append(why, selftest.Reason(err))
		}
	}
	missing, all := h.missing(), strings.Join(why, "; ")
	switch {
	case len(why) == 0 && missing > 0:
		return fmt.Errorf("%w: %d of %d slots of the Redis cluster have no server, so that names in them cannot be locked; see redis-cli --cluster fix",
			backend.ErrPartly, missing, servers.Slots)
	case len(why) == 0:
		return nil
	case len(h.masters) == 1:
		return fmt.Errorf("%w: %s", backend.ErrPartly, all)
	case missing > 0:
		return fmt.Errorf("%w: %d of %d masters, with %d of %d slots (%d %% of the names), grant no new locks: %s",
			backend.ErrPartly, len(why), len(h.masters), missing, servers.Slots, (100*missing+servers.Slots/2)/servers.Slots, all)
	default:
		return fmt.Errorf("%w: %d of %d masters grant no new locks: %s", backend.ErrPartly, len(why), len(h.masters), all)
	}
}

// missing is how many slots no master has that serves; 0 too if that is not known, as
// where the servers tell other addresses than those by which they are reached.
func (h health) missing() int {
	if h.shares == nil {
		return 0
	}
	served, known := 0, 0
	for i, c := range h.masters {
		n := h.shares[c.Options().Addr]
		known += n
		if h.wrong[i] == nil {
			served += n
		}
	}
	for _, n := range h.shares {
		known -= n
	}
	if known != 0 {
		return 0
	}
	return servers.Slots - served
}
