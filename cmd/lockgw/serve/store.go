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
	"github.com/lockgw/lockgw/backend/dialer"
	"github.com/lockgw/lockgw/backend/etcd"
	"github.com/lockgw/lockgw/backend/floor"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/memory"
	"github.com/lockgw/lockgw/backend/mysql"
	"github.com/lockgw/lockgw/backend/postgres"
	"github.com/lockgw/lockgw/backend/redis"
	"github.com/lockgw/lockgw/backend/redlock"
	"github.com/lockgw/lockgw/backend/willing"
	"github.com/lockgw/lockgw/backend/zookeeper"
	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/cmd/lockgw/config"
	"github.com/lockgw/lockgw/session"
)

// Files in state_dir of what the gateway knows of the runs of its servers.
const (
	redisRuns    = "redis-servers"
	postgresRuns = "postgres-runs"
	mysqlRuns    = "mysql-runs"
)

// openTable opens the store that backend.url names. A store that cannot be
// reached now is no error: the gateway runs, and is not ready until it can.
func openTable(cfg config.Config, past legacy, log *slog.Logger) (ledger.Table, error) {
	c, node := cfg.Backend, backend.Node{ID: past.state.Node} // in the store it is the process before
	var password func() string
	if c.PasswordFile != "" { // which package config has put into the URL as it was then
		password = dialer.NewPassword(dialer.File{Setting: "backend.password_file", Path: c.PasswordFile})
	}
	scheme, _, _ := strings.Cut(c.URL, "://")
	switch scheme {
	case "memory":
		rows := memory.NewRows()
		rows.Raise(backend.Fence(past.state.Fence))
		if left := past.state.Until - session.Boottime(); left > 0 {
			log.Warn("the journal is lost, and with it the knowledge of who holds what; nothing is granted until the last of those leases is over", "for", left.Round(time.Second))
			rows.Pause(left)
		}
		return memory.OpenTable(rows, node.ID), nil
	case "redis", "rediss", "redis+unix", "redis+sentinel", "rediss+sentinel", "redis+cluster", "rediss+cluster":
		return redis.OpenTable(redis.Config{
			URL: c.URL, Password: password, KeyPrefix: c.KeyPrefix, FenceTTL: c.Redis.FenceTTL, Publish: c.Redis.Publish,
			Guard: c.Redis.Guard, Lease: cfg.Lock.TTL, GuardFile: filepath.Join(cfg.StateDir, redisRuns), Node: node, Log: log,
		})
	case "etcd":
		return etcd.OpenTable(etcd.Config{URL: c.URL, Password: password, KeyPrefix: c.KeyPrefix, Lease: cfg.Lock.TTL, Node: node, Log: log})
	case "zookeeper":
		return zookeeper.OpenTable(zookeeper.Config{URL: c.URL, KeyPrefix: c.KeyPrefix, Lease: cfg.Lock.TTL, Node: node, Log: log})
	case "postgres", "postgresql":
		return postgres.OpenTable(postgres.Config{
			URL: c.URL, Password: password, ListenURL: c.Postgres.ListenURL, KeyPrefix: c.KeyPrefix,
			Guard: c.Postgres.Guard, Lease: cfg.Lock.TTL, GuardFile: filepath.Join(cfg.StateDir, postgresRuns), Node: node, Log: log,
		})
	case "mysql":
		return mysql.OpenTable(mysql.Config{
			URL: c.URL, Password: password, KeyPrefix: c.KeyPrefix,
			Guard: c.MySQL.Guard, Lease: cfg.Lock.TTL, GuardFile: filepath.Join(cfg.StateDir, mysqlRuns), Node: node, Log: log,
		})
	case "redlock":
		return redlock.OpenTable(redlock.Config{URL: c.URL, Password: password, KeyPrefix: c.KeyPrefix, FenceTTL: c.Redis.FenceTTL, Node: node, Log: log})
	default:
		return nil, config.CheckBackendURL(c.URL)
	}
}

// openStore opens the store, measured and gated.
func openStore(ctx context.Context, c config.Config, past legacy, seen *observation, log *slog.Logger) (ledger.Table, error) {
	dialer.LogTo(log)
	store, err := openTable(c, past, log)
	if err != nil {
		return nil, fmt.Errorf("backend.url: %w", err)
	}
	if store, err = gated(ctx, store, c.Backend, seen, log); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	if least := c.Backend.FenceFloor; least > 0 {
		store = floor.New(store, backend.Fence(least))
	}
	return store, nil
}

// gated wraps store so that no new locks are granted while it cannot be trusted. An error
// says why the gateway must not start; the caller has to close the store then, too.
func gated(ctx context.Context, store ledger.Table, c config.Backend, seen *observation, log *slog.Logger) (ledger.Table, error) {
	measured, err := seen.measured(store)
	if err != nil {
		return store, err
	}
	granting := willing.New(measured, log)
	switch server := store.(type) {
	case *redis.Table:
		gate := seen.gate(breaker.Parts(granting, server.Part, measured.Ping, log))
		eviction := redis.NewTableGate(gate, server.Eviction, log)
		return eviction, evicts(eviction.Check(ctx), c, "renew and release, and grant nothing new")
	case *redlock.Table:
		err = evicts(server.Evicts(ctx), c, "and go on without them")
	}
	return seen.gate(breaker.New(granting, measured.Ping, log)), err
}

// evicts is why the gateway must not start with servers that may drop locks, as err says; nil: it
// may. would says what it would do if it started.
func evicts(err error, c config.Backend, would string) error {
	if err == nil || c.Redis.Eviction != "refuse" {
		return nil
	}
	return cli.Exit(cli.ExitUnavailable, fmt.Errorf("backend.url: %w; with backend.redis.eviction: read-only the gateway would start, %s", err, would))
}
