package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/breaker"
	"github.com/lockgw/lockgw/backend/memory"
	"github.com/lockgw/lockgw/backend/redis"
)

// laterSchemes are of stores that the next versions bring.
var laterSchemes = []string{
	"redis+sentinel", "redis+cluster", "redlock", "postgres", "mysql", "zookeeper", "etcd",
}

// openBackend opens the store that backend.url names. A store that cannot be
// reached now is no error: the gateway runs, and is not ready until it can.
func openBackend(ctx context.Context, c backendConfig, node backend.Node, log *slog.Logger) (backend.Backend, error) {
	scheme, _, _ := strings.Cut(c.URL, "://")
	switch scheme {
	case "memory":
		return memory.Open(memory.NewStore(), node), nil
	case "redis", "rediss", "redis+unix":
		return redis.Open(ctx, redis.Config{URL: c.URL, KeyPrefix: c.KeyPrefix, FenceTTL: c.Redis.FenceTTL, Node: node, Log: log})
	default:
		return nil, checkBackendURL(c.URL)
	}
}

// gated puts before store what keeps new locks from it while it cannot be trusted
// with them. An error says why the gateway must not start; the store has to be
// closed then, too.
func gated(ctx context.Context, store backend.Backend, c backendConfig, log *slog.Logger) (backend.Backend, error) {
	gate := breaker.New(store, log)
	server, ok := store.(*redis.Backend)
	if !ok {
		return gate, nil
	}
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
		return fmt.Errorf("%s:// is not in this version, which has memory://, redis://, rediss:// and redis+unix://", scheme)
	case scheme == "memory" && rest != "":
		return errors.New("memory:// takes nothing after it")
	case scheme == "memory":
		return nil
	case scheme != "redis" && scheme != "rediss" && scheme != "redis+unix":
		return fmt.Errorf("unknown scheme %q; this version has memory://, redis://, rediss:// and redis+unix://", scheme)
	}
	if _, err := url.Parse(raw); err != nil {
		// Its own words quote the part that is wrong, which may be the password.
		return errors.New("cannot be read as a URL; special characters in a password have to be percent-encoded")
	}
	return nil
}
