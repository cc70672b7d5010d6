package redis

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/boottime"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/redis/conn"
	"github.com/lockgw/lockgw/backend/redis/requests"
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
	*site
	requests, renewRequests *requests.Router
	swaps                   swaps
	trust                   trust
	clocks                  clocks
	nonce                   string
	writes                  atomic.Uint64
	told                    func(ledger.Addressed)
	closed                  func() error // closes, once

	mu      sync.Mutex        // guards the field below
	foreign map[string]string // by name: the channel on which the release of its foreign holder is heard
}

var _ ledger.Table = (*Table)(nil)

// OpenTable makes the Table of a node. It does not wait for Redis to be there. Errors are
// of the configuration. Redisson's fence counter is made only if cfg.FenceTTL is above 0.
func OpenTable(cfg Config) (*Table, error) {
	s, err := openSite(cfg, channelOfNode+cfg.Node.ID)
	if err != nil {
		return nil, err
	}
	t := &Table{site: s, nonce: rand.Text()[:12], swaps: newSwaps(s.publish, cfg.FenceTTL), foreign: map[string]string{}, told: func(ledger.Addressed) {}}
	t.requests, t.renewRequests = requests.New(s.servers), requests.New(s.renewals)
	t.trust.known, t.clocks.ahead = map[*goredis.Client]*verdict{}, map[*goredis.Client]time.Duration{}
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

// Close implements ledger.Table. It may be called again.
func (t *Table) Close() error { return t.closed() }

func (t *Table) close() error {
	t.subscriber.Close()
	t.trust.stop()
	t.requests.Close()
	t.renewRequests.Close()
	return t.disconnect()
}

// version has never been used: by no other process, and not before by this one.
func (t *Table) version() string {
	const digits = "0000000000"
	n := strconv.FormatUint(t.writes.Add(1), 36)
	return t.nonce + digits[len(n):] + n
}

// Swap implements ledger.Table.
func (t *Table) Swap(ctx context.Context, s ledger.Swap) (ledger.Reply, error) {
	next := t.version()
	m, err := t.swapMessage(s, next)
	if err != nil {
		return ledger.Reply{}, err
	}
	raw := t.cfg.KeyPrefix + s.Name
	var v any
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
	if a.Number(0) == 1 {
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
	v, err := t.requests.Eval(ctx, raw, lookScript, append(requests.NewMessage(2, 0), recordKey(raw), raw))
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
	alone, err := ledger.Encode(empty)
	if err != nil {
		return ledger.Reply{}, fmt.Errorf("%w: %w", backend.ErrInvalid, err)
	}
	m := append(t.message(raw, 8),
		t.version(), entry, e.Node, e.Mode.Limit(), uint64(floor), alone, channelOfNode, heading(ledger.Waits, name))
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

// message to a script about raw, with its keys and room for args.
func (t *Table) message(raw string, args int) requests.Message {
	return append(requests.NewMessage(4, args), recordKey(raw), raw, counterOf(raw), t.markKey(raw))
}

// swapMessage is s as swap.lua reads it.
func (t *Table) swapMessage(s ledger.Swap, next string) (requests.Message, error) {
	text, err := ledger.Encode(s.Record)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", backend.ErrInvalid, err)
	}
	raw := t.cfg.KeyPrefix + s.Name
	will, number, fields := lockOf(&s.Record)
	floor, own := "", ""
	if s.Base == "" && !s.Absolute {
		floor = fence(s.Floor)
	}
	if h := s.Record.Firm(t.cfg.Node.ID); h != nil {
		own = fence(max(h.ID, h.Block))
	}
	ttls := map[backend.Fence]time.Duration{}
	for _, st := range s.Effects.Stamps {
		ttls[st.ID] = st.TTL
	}
	ended := make([]backend.Fence, 0, len(s.Effects.Ended))
	for _, id := range s.Effects.Ended {
		if id != 0 { // whether that one is there, the lock says
			ended = append(ended, id)
		}
	}
	holds := 0
	for _, h := range s.Record.Holds {
		if h.ID != 0 {
			holds++
		}
	}
	m := t.message(raw, 10+2*holds+1+len(ended)+2*len(s.Effects.Messages)+len(fields))
	if short := will == "" && s.Base != ""; short {
		m = append(requests.NewMessage(2, 5+1+len(ended)+2*len(s.Effects.Messages)), m.Key(0), m.Key(1),
			string(s.Base), next, text, fence(s.Record.Top), will)
	} else {
		m = append(m, string(s.Base), next, text, fence(s.Record.Top), will, number, floor, own, lifeOf(&s.Record, ttls), holds)
	}
	m = withHolds(m, &s.Record, ttls)
	if len(ended)+len(s.Effects.Messages)+len(fields) > 0 {
		m = append(m, len(ended))
	}
	for _, id := range ended {
		m = append(m, fence(id))
	}
	for _, told := range s.Effects.Messages {
		m = append(m, channelOfNode+told.Node, heading(told.Kind, s.Name))
	}
	for _, f := range fields {
		m = append(m, f)
	}
	return m, nil
}

// withHolds adds the holds of r to m, with the leases that begin.
func withHolds(m requests.Message, r *ledger.Record, ttls map[backend.Fence]time.Duration) requests.Message {
	for _, h := range r.Holds {
		if h.ID == 0 {
			continue
		}
		id, ttl := fence(h.ID)+"=", ""
		if h.Offered {
			id = fence(h.ID) + "?"
		}
		if d, ok := ttls[h.ID]; ok {
			ttl = strconv.FormatInt(max(d.Milliseconds(), 1), 10)
		}
		m = append(m, id, ttl)
	}
	return m
}

// lifeOf is how long a record with these leases has to last, in ms; "" if there are leases
// that only the store knows.
func lifeOf(r *ledger.Record, ttls map[backend.Fence]time.Duration) string {
	longest := time.Duration(0)
	for _, h := range r.Holds {
		ttl, ok := ttls[h.ID]
		if !ok && h.ID != 0 {
			return ""
		}
		longest = max(longest, ttl)
	}
	return strconv.FormatInt((longest + time.Minute).Milliseconds(), 10)
}

func fence(f backend.Fence) string { return strconv.FormatUint(uint64(f), 10) }

// answer is what a script has said, or why it has not.
func (t *Table) answer(raw string, v any, err error) (conn.Reply, error) {
	switch {
	case err == nil && v == int64(1): // written, and there is nothing to tell
		return conn.Reply{v}, nil
	case err == nil:
		return conn.AsReply(v)
	case errors.Is(err, backend.ErrUnavailable), errors.Is(err, backend.ErrRefused), errors.Is(err, backend.ErrConflict):
		return nil, err
	case strings.Contains(err.Error(), "NORECORD") || strings.Contains(err.Error(), "WRONGTYPE"):
		return nil, fmt.Errorf("%w: the key %s is none of lockgw's: another program uses it; rename or delete it", backend.ErrRefused, recordKey(raw))
	case strings.Contains(err.Error(), "COUNTER"):
		return nil, fmt.Errorf("%w: the fence counter %s is no number that a fence can be above; delete it", backend.ErrRefused, counterOf(raw))
	default: // an error within a script, of which something may have been done
		return nil, fmt.Errorf("%w: %w", backend.ErrUnavailable, err)
	}
}

// there reads an answer that tells what is there.
func (t *Table) there(ctx context.Context, raw string, a conn.Reply) (ledger.Reply, error) {
	r, err := readThere(a, cmp.Or(t.cfg.Lease, 30*time.Second))
	if err != nil {
		return ledger.Reply{}, fmt.Errorf("%w: the key %s: %w", backend.ErrRefused, recordKey(raw), err)
	}
	t.heard(ctx, raw, r.Clock)
	return r, nil
}

// written is what is there once s was carried out.
func (t *Table) written(ctx context.Context, s ledger.Swap, next string, a conn.Reply) ledger.Reply {
	r := ledger.Reply{Version: ledger.Version(next), Record: s.Record.Clone(), Clock: micros(a.Number(2), a.Number(3))}
	if base := a.Fence(4); base != 0 {
		r.Record.Rebase(base)
	}
	ends := parseEnds(a.Text(1))
	raw := t.cfg.KeyPrefix + s.Name
	if r.Clock != 0 {
		t.heard(ctx, raw, r.Clock)
	} else { // no lease began, so nothing had to be timed
		r.Clock = t.clock(ctx, raw)
	}
	for i := range r.Record.Holds {
		h := &r.Record.Holds[i]
		if s.Record.Holds[i].ID == 0 {
			h.ID = 0
			h.End = outsider{left: time.Duration(a.Number(5)) * time.Millisecond}.hold().End
			continue
		}
		h.End = time.Duration(ends[h.ID]-r.Clock/1000) * time.Millisecond
	}
	for i, m := range s.Effects.Messages {
		if a.Number(6+i) == 0 {
			r.Unheard = append(r.Unheard, m.Node)
		}
	}
	return r
}

// clocks are those of servers, as far as they were told.
type clocks struct {
	mu    sync.RWMutex
	ahead map[*goredis.Client]time.Duration // of the time since this machine started
}

// heard notes what the server of raw has said of the time, in microseconds.
func (t *Table) heard(ctx context.Context, raw string, us int64) {
	c, err := t.servers.Of(ctx, raw)
	if err != nil || us == 0 {
		return
	}
	ahead := time.Duration(us)*time.Microsecond - boottime.Now()
	t.clocks.mu.Lock()
	defer t.clocks.mu.Unlock()
	t.clocks.ahead[c] = ahead
}

// clock is about what the server of raw would say now; 0: it has said nothing yet.
func (t *Table) clock(ctx context.Context, raw string) int64 {
	c, err := t.servers.Of(ctx, raw)
	if err != nil {
		return 0
	}
	t.clocks.mu.RLock()
	defer t.clocks.mu.RUnlock()
	ahead, ok := t.clocks.ahead[c]
	if !ok {
		return 0
	}
	return (ahead + boottime.Now()).Microseconds()
}
