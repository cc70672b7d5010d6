package redlock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/redis"
	"github.com/lockgw/lockgw/backend/redlock/voting"
)

// Table keeps records in several Redis servers, of which a majority decides.
type Table struct {
	*voting.Table
	longest time.Duration
	servers []*redis.Table
}

var _ ledger.Table = (*Table)(nil)

// requestLife is longer than a request to a server can be under way.
const requestLife = 10 * time.Second

// askTimeout bounds a question to all servers.
const askTimeout = 2 * time.Second

// OpenTable makes the Table of a node. It does not wait for the servers to be there. Errors
// are of the configuration.
//
// A server that was restarted, or is empty, takes no part in anything for as long as the
// longest lease. Only where all servers are there, and none was ever used, do they count at
// once.
func OpenTable(cfg Config) (*Table, error) {
	urls, longest, err := Servers(cfg.URL)
	if err != nil {
		return nil, err
	}
	site := &site{}
	var tables []ledger.Table
	for i, url := range urls {
		unused := func(ctx context.Context) bool { return site.unused(ctx, i) }
		t, err := redis.OpenTable(redis.Config{
			URL: url, Password: cfg.Password, KeyPrefix: cfg.KeyPrefix, FenceTTL: cfg.FenceTTL, Node: cfg.Node, Log: cfg.Log,
			Guard: redis.GuardQuarantine, Lease: longest + requestLife, Unused: unused, Voter: true,
		})
		if err != nil {
			for _, t := range tables {
				_ = t.Close()
			}
			return nil, err
		}
		tables = append(tables, t)
		site.servers = append(site.servers, t)
	}
	return &Table{voting.New(tables), longest, site.servers}, nil
}

// Info implements ledger.Table.
func (t *Table) Info() backend.Info {
	is := t.Table.Info()
	is.MaxTTL = t.longest
	return is
}

// Evicts says which of the servers may drop locks when their memory is full, as far as they
// answer; nil: none. They take no part in anything as long as they may.
func (t *Table) Evicts(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	errs := make([]error, len(t.servers))
	_ = backend.Each(len(t.servers), func(i int) error {
		said, err := t.servers[i].Eviction(ctx)
		if err == nil && said.Err() != nil {
			errs[i] = fmt.Errorf("server %d: %w", i+1, said.Err())
		}
		return nil
	})
	return errors.Join(errs...)
}

// site is the servers, which are new together.
type site struct {
	servers []*redis.Table

	mu  sync.Mutex // guards the field below
	new []string   // the ids of all, if they were unused when this gateway first looked
}

// unused: server i is one of those that are new together, and nobody has used it since. One that
// was restarted in between, before this gateway came to look at it, may have been used by others.
func (s *site) unused(ctx context.Context, i int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.new == nil {
		var ids []string
		for _, t := range s.servers {
			id, unused := t.Unused(ctx)
			if !unused {
				return false
			}
			ids = append(ids, id)
		}
		s.new = ids
	}
	id, unused := s.servers[i].Unused(ctx)
	return unused && id == s.new[i]
}
