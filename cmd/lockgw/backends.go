package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/breaker"
	"github.com/lockgw/lockgw/backend/memory"
	"github.com/lockgw/lockgw/backend/redis"
	"github.com/lockgw/lockgw/backend/redlock"
)

// laterSchemes are of stores that the next versions bring.
var laterSchemes = []string{
	"postgres", "mysql", "zookeeper", "etcd",
}

const presentSchemes = "memory://, redis://, rediss://, redis+unix://, redis+sentinel://, redis+cluster:// and redlock://"

// guardFile in state_dir is what the gateway knows of the runs of its Redis servers.
const guardFile = "redis-servers"

// openBackend opens the store that backend.url names. A store that cannot be
// reached now is no error: the gateway runs, and is not ready until it can.
func openBackend(ctx context.Context, cfg config, node backend.Node, log *slog.Logger) (backend.Backend, error) {
	c := cfg.Backend
	scheme, _, _ := strings.Cut(c.URL, "://")
	switch scheme {
	case "memory":
		return memory.Open(memory.NewStore(), node), nil
	case "redis", "rediss", "redis+unix", "redis+sentinel", "rediss+sentinel", "redis+cluster", "rediss+cluster":
		return redis.Open(ctx, redis.Config{
			URL: c.URL, KeyPrefix: c.KeyPrefix, FenceTTL: c.Redis.FenceTTL, Publish: c.Redis.Publish,
			Guard: c.Redis.Guard, Lease: cfg.Lock.TTL, GuardFile: filepath.Join(cfg.StateDir, guardFile), Node: node, Log: log,
		})
	case "redlock":
		return redlock.Open(ctx, redlock.Config{URL: c.URL, KeyPrefix: c.KeyPrefix, FenceTTL: c.Redis.FenceTTL, Node: node, Log: log})
	default:
		return nil, checkBackendURL(c.URL)
	}
}

// openStore opens the store, measured and gated.
func openStore(ctx context.Context, c config, node backend.Node, seen *observation, log *slog.Logger) (backend.Backend, error) {
	store, err := openBackend(ctx, c, node, log)
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
func gated(ctx context.Context, store backend.Backend, c backendConfig, seen *observation, log *slog.Logger) (backend.Backend, error) {
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
		return eviction, exit(exitUnavailable, fmt.Errorf("backend.url: %w; with backend.redis.eviction: read-only "+
			"the gateway would start, renew and release, and grant nothing new", err))
	}
	return eviction, nil
}

// checkBackendURL says why openBackend would not know what to open. It does not
// repeat the URL, which may have a password in it.
func checkBackendURL(raw string) error {
	scheme, rest, ok := strings.Cut(raw, "://")
	switch {
	case !ok:
		return errors.New("must be the URL of a store, such as memory:// or redis://localhost:6379/0")
	case slices.Contains(laterSchemes, scheme):
		return fmt.Errorf("%s:// is not in this version, which has "+presentSchemes, scheme)
	case scheme == "memory" && rest != "":
		return errors.New("memory:// takes nothing after it")
	case scheme == "memory":
		return nil
	case strings.HasSuffix(scheme, "+sentinel"), strings.HasSuffix(scheme, "+cluster"):
		return redis.CheckURL(raw)
	case scheme == "redlock": // several hosts, which package url does not know
		return redlock.CheckURL(raw)
	case scheme != "redis" && scheme != "rediss" && scheme != "redis+unix":
		return fmt.Errorf("unknown scheme %q; this version has "+presentSchemes, scheme)
	}
	return redis.CheckURL(raw)
}
