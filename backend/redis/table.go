package redis

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/redis/conn"
	"github.com/lockgw/lockgw/backend/redis/requests"
	"github.com/lockgw/lockgw/backend/redis/servers"
)

// Table keeps the records of package ledger in Redis, as one node sees them.
//
// A name, of which raw is the configured prefix and the name, has two keys at most:
//
//	raw            what programs outside lockgw see, as long as somebody has the name: the
//	               hash that Redisson locks by. Of an exclusive hold it has the owner, with
//	               how often that has entered. Of several holds, shared ones or permits, it
//	               has NODE:0 for each, and mode, which is "lockgw -1" or "lockgw 5", so
//	               that read-write locks of Redisson wait as well. What is only offered is
//	               NODE:1, what is kept from everybody lockgw:delay.
//	lockgw:{raw}   the record, for a minute longer than the longest lease: a line with its
//	               version and the ends of the holds, then JSON; see record.lua.
//
// A write is one script: it compares the version, looks whether the lock is as the record
// has it, and changes both. A renewal changes an end in the first line and nothing else;
// a node that joins is appended. None of them knows the rules, or grows with the callers
// that wait.
//
// A lock that is not as the record has it is one of a program outside lockgw, whatever its
// type, or was deleted. Then the holds in the record are over, and replies are without
// them. A holder outside lockgw is in replies as the hold 0 of nobody.
//
// Besides, each server has one key lockgw:guard:{N} by which gateways agree whom to trust,
// and for each slot in use, of which a server without Cluster has one, lockgw:mark:{N}, from
// which fences count while the clock is behind.
type Table struct {
	cfg        Config
	servers    servers.Set
	renewals   servers.Set // of their own: a busy pool must not starve them
	requests   *requests.Router
	renewing   *requests.Router // to renewals
	publish    servers.Publishing
	subscriber servers.Subscriber
	guard      *guard
	keyspace   keyspace
	swaps      swaps
	trust      trust
	trials     trials
	clocks     clocks
	nonce      string
	writes     atomic.Uint64
	told       func(ledger.Addressed)
	closed     func() error // closes, once

	mu      sync.Mutex          // guards the field below
	foreign map[string]followed // by name
}

var _ ledger.Table = (*Table)(nil)

// OpenTable makes the Table of a node. It does not wait for Redis to be there. Errors are
// of the configuration. Redisson's fence counter is made only if cfg.FenceTTL is above 0.
func OpenTable(cfg Config) (*Table, error) {
	connect, err := servers.Open(cfg.URL, cfg.Password)
	if err != nil {
		return nil, err
	}
	publish, err := servers.ReadPublishing(cfg.Publish, conn.Clustered(cfg.URL))
	if err != nil {
		return nil, err
	}
	if err := backend.CheckKeyPrefix(cfg.KeyPrefix); err != nil {
		return nil, fmt.Errorf("backend.key_prefix: %w", err)
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	goredis.SetLogger(clientLog{cfg.Log}) // for the whole process; it has one gateway
	t := &Table{
		cfg: cfg, servers: connect(), renewals: connect(), publish: publish, swaps: newSwaps(publish, cfg.FenceTTL),
		nonce: rand.Text()[:nonceLength], foreign: map[string]followed{}, told: func(ledger.Addressed) {},
		guard: newGuard(cfg.Guard, cfg.Lease, cfg.GuardFile, cfg.Log),
	}
	t.keyspace.known, t.trust.known = map[*goredis.Client]told{}, map[*goredis.Client]*known{}
	t.clocks.ahead = map[*goredis.Client]time.Duration{}
	t.requests, t.renewing = requests.New(t.servers), requests.New(t.renewals)
	t.subscriber = t.servers.Listen(channelOfNode+cfg.Node.ID, publish, cfg.Log)
	t.closed = sync.OnceValue(t.close)
	t.trust.start(t)
	return t, nil
}

// Node implements ledger.Table.
func (t *Table) Node() string { return t.cfg.Node.ID }

// Info implements ledger.Table. Without a guard nobody knows that Redis has forgotten, and
// nothing is restored.
func (t *Table) Info() backend.Info {
	return backend.Info{Type: "redis", Fencing: true, Queue: true, Push: true, Shared: true, Modes: true, Restores: t.cfg.Guard == GuardQuarantine}
}

// ProbeAge is how long ago messages from Redis were last known to arrive; very long
// if they never were.
func (t *Table) ProbeAge() time.Duration { return t.subscriber.ProbeAge() }

// Close implements ledger.Table. It may be called again.
func (t *Table) Close() error { return t.closed() }

func (t *Table) close() error {
	t.subscriber.Close()
	t.trust.stop()
	t.requests.Close()
	t.renewing.Close()
	return errors.Join(t.servers.Close(), t.renewals.Close())
}

// Swap implements ledger.Table.
func (t *Table) Swap(ctx context.Context, s ledger.Swap) (ledger.Reply, error) {
	text := ledger.Encode(s.Record)
	next := t.version(text)
	m := t.swapMessage(s, next, text)
	raw := t.cfg.KeyPrefix + s.Name
	var v any
	var err error
	switch {
	case s.Effects.Evicts:
		v, err = t.evict(ctx, raw, s.Seen, m)
	case s.Effects.Grants:
		v, err = t.grant(ctx, raw, m, s.Effects.Frees)
	default:
		v, err = t.requests.Eval(ctx, raw, t.swaps.plain, m)
	}
	a, err := t.answer(raw, v, err)
	if err != nil {
		return ledger.Reply{}, err
	}
	var r ledger.Reply
	if a.Number(0) > 0 {
		r = t.written(ctx, s, next, a)
	} else if r, err = t.there(ctx, raw, a); err != nil {
		return ledger.Reply{}, err
	}
	// The client library may have repeated it where a cluster has moved the name.
	r.Written = r.Version == ledger.Version(next)
	t.follow(ctx, s.Name, &r)
	return r, nil
}

// Look implements ledger.Table.
func (t *Table) Look(ctx context.Context, name string) (ledger.Reply, error) {
	raw := t.cfg.KeyPrefix + name
	// No more keys than a held name has: where a cluster moves its slot, others are missing.
	m := requests.NewMessage(2, 0)
	addKeys(m, raw)
	v, err := t.requests.Eval(ctx, raw, lookScript, m)
	r, err := t.readAndFollow(ctx, name, v, err)
	if err == nil {
		r.Refusing = t.refusing(ctx, raw)
	}
	return r, err
}

// Join implements ledger.Table.
func (t *Table) Join(ctx context.Context, name string, e ledger.Entry, floor backend.Fence) (ledger.Reply, error) {
	raw := t.cfg.KeyPrefix + name
	entry, err := json.Marshal(e)
	if err != nil {
		return ledger.Reply{}, fmt.Errorf("%w: %w", backend.ErrInvalid, err)
	}
	var empty ledger.Record
	empty.Join(e)
	m := t.message(raw, 8)
	m.Add(t.version(nil))
	m.AddBytes(entry)
	m.Add(e.Node)
	m.AddNumber(int64(e.Mode.Limit()))
	m.AddNumber(int64(floor))
	m.AddBytes(ledger.Encode(empty))
	m.Add(channelOfNode)
	m.Add(ledger.Heading(ledger.Waits, name))
	v, err := t.requests.Eval(ctx, raw, joinScript, m)
	return t.readAndFollow(ctx, name, v, err)
}

func (t *Table) readAndFollow(ctx context.Context, name string, v any, err error) (ledger.Reply, error) {
	raw := t.cfg.KeyPrefix + name
	a, err := t.answer(raw, v, err)
	if err != nil {
		return ledger.Reply{}, err
	}
	r, err := t.there(ctx, raw, a)
	if err == nil {
		t.follow(ctx, name, &r)
	}
	return r, err
}
