package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/breaker"
	"github.com/lockgw/lockgw/backend/memory"
	"github.com/lockgw/lockgw/backend/redis"
	"github.com/lockgw/lockgw/backend/redlock"
	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/cmd/lockgw/config"
	"github.com/lockgw/lockgw/session"
)

// guardFile in state_dir is what the gateway knows of the runs of its Redis servers.
const guardFile = "redis-servers"

// openBackend opens the store that backend.url names. A store that cannot be
// reached now is no error: the gateway runs, and is not ready until it can.
func openBackend(ctx context.Context, cfg config.Config, past legacy, log *slog.Logger) (backend.Backend, error) {
	c, node := cfg.Backend, past.node()
	scheme, _, _ := strings.Cut(c.URL, "://")
	switch scheme {
	case "memory":
		store := memory.NewStore()
		if left := past.state.Until - session.Boottime(); left > 0 {
			log.Warn("the journal is lost, and with it who holds what; nothing is granted until that has run out", "for", left.Round(time.Second))
			store.Pause(left)
		}
		return memory.Open(store, node), nil
	case "redis", "rediss", "redis+unix", "redis+sentinel", "rediss+sentinel", "redis+cluster", "rediss+cluster":
		return redis.Open(ctx, redis.Config{
			URL: c.URL, KeyPrefix: c.KeyPrefix, FenceTTL: c.Redis.FenceTTL, Publish: c.Redis.Publish,
			Guard: c.Redis.Guard, Lease: cfg.Lock.TTL, GuardFile: filepath.Join(cfg.StateDir, guardFile), Node: node, Log: log,
		})
	case "redlock":
		return redlock.Open(ctx, redlock.Config{URL: c.URL, KeyPrefix: c.KeyPrefix, FenceTTL: c.Redis.FenceTTL, Node: node, Log: log})
	default:
		return nil, config.CheckBackendURL(c.URL)
	}
}

// openStore opens the store, measured and gated.
func openStore(ctx context.Context, c config.Config, past legacy, seen *observation, log *slog.Logger) (backend.Backend, error) {
	store, err := openBackend(ctx, c, past, log)
	if err != nil {
		return nil, fmt.Errorf("backend.url: %w", err)
	}
	if store, err = gated(ctx, store, c.Backend, seen, log); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return store, nil
}

// gated puts before store what keeps new locks from it while it cannot be trusted
// with them. An error says why the gateway must not start; the store has to be
// closed then, too.
func gated(ctx context.Context, store backend.Backend, c config.Backend, seen *observation, log *slog.Logger) (backend.Backend, error) {
	measured, err := seen.measured(store)
	if err != nil {
		return store, err
	}
	server, ok := store.(*redis.Backend)
	if !ok {
		return seen.gate(breaker.New(measured, log)), nil
	}
	gate := seen.gate(breaker.Parts(measured, server.Part, log))
	eviction := redis.NewGate(gate, server.Eviction, log)
	if err := eviction.Check(ctx); err != nil && c.Redis.Eviction == "refuse" {
		return eviction, cli.Exit(cli.ExitUnavailable, fmt.Errorf("backend.url: %w; with backend.redis.eviction: read-only "+
			"the gateway would start, renew and release, and grant nothing new", err))
	}
	return eviction, nil
}
