package redis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/boottime"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/redis/conn"
	goredis "github.com/redis/go-redis/v9"
)

// errNoRecord is an ErrRefused: what has the key of a record is none that this lockgw reads.
var errNoRecord = fmt.Errorf("%w", backend.ErrRefused)

// answer is what a script has said, or why it has not.
func (t *Table) answer(raw string, v any, err error) (conn.Reply, error) {
	switch _, alone := v.(int64); {
	case err == nil && alone: // written, and at most the clock is to be told
		return conn.Reply{v}, nil
	case err == nil:
		return conn.AsReply(v)
	case errors.Is(err, conn.ErrLacksRight): // taken away since the server was tried, which names it
		t.trials.forget()
		return nil, fmt.Errorf("%w: %w", backend.ErrUnavailable, err)
	case errors.Is(err, backend.ErrUnavailable), errors.Is(err, backend.ErrRefused), errors.Is(err, backend.ErrConflict):
		return nil, err
	case strings.Contains(err.Error(), "NORECORD") || strings.Contains(err.Error(), "WRONGTYPE"):
		return nil, fmt.Errorf("%w: the key %s is none of lockgw's: another program uses it; rename or delete it", errNoRecord, recordKey(raw))
	case strings.Contains(err.Error(), "NOMARK"):
		return nil, noMark(t.markKey(raw))
	case strings.Contains(err.Error(), "COUNTER"):
		return nil, fmt.Errorf("%w: the fence counter %s is no number that a fence can be above; delete it", backend.ErrRefused, counterOf(raw))
	default: // an error within a script, of which something may have been done
		return nil, fmt.Errorf("%w: %w", backend.ErrUnavailable, err)
	}
}

// noMark: what has the key of a mark is none.
func noMark(key string) error {
	return fmt.Errorf("%w: the key %s, which tells what fences count from, has something that is none of lockgw's: delete it", backend.ErrRefused, key)
}

// there reads an answer that tells what is there.
func (t *Table) there(ctx context.Context, raw string, a conn.Reply) (ledger.Reply, error) {
	r, err := readThere(a, t.rest())
	if err != nil {
		return ledger.Reply{}, fmt.Errorf("%w: the key %s: %w", errNoRecord, recordKey(raw), err)
	}
	t.heard(ctx, raw, r.Clock)
	return r, nil
}

// rest is after how long who waits for what has no end looks again. By that the record is kept
// with the queue, for 90 s each time; see there.lua.
func (t *Table) rest() time.Duration { return min(cmp.Or(t.cfg.Lease, 30*time.Second), time.Minute) }

// written is what is there once s was carried out. The answer is the clock alone, or 1 where
// that was not looked at, if what is there is as s has it, with no lease but those that begin.
func (t *Table) written(ctx context.Context, s ledger.Swap, next string, a conn.Reply) ledger.Reply {
	r := ledger.Reply{Version: ledger.Version(next), Record: s.Record.Clone(), Clock: micros(a.Number(2), a.Number(3))}
	if base := a.Fence(4); base != 0 {
		r.Record.Rebase(base)
	}
	short := len(a) == 1
	if n := a.Number(0); short && n > 1 {
		r.Clock = n
	}
	ends := ends{all: a.Text(1)}
	raw := t.cfg.KeyPrefix + s.Name
	if r.Clock != 0 {
		t.heard(ctx, raw, r.Clock)
	} else { // no lease began, so nothing had to be timed
		r.Clock = t.clock(ctx, raw)
	}
	for i := range r.Record.Holds {
		h := &r.Record.Holds[i]
		if s.Record.Holds[i].ID == 0 {
			now := outsider{left: time.Duration(a.Number(5)) * time.Millisecond, rest: t.rest()}.hold()
			h.ID, h.End, h.Endless = 0, now.End, now.Endless
			continue
		}
		if short {
			ttl, _ := ledger.LeaseOf(s.Effects.Stamps, h.ID)
			h.End = toTheMillisecond(ttl)
			continue
		}
		h.End = time.Duration(ends.of(h.ID)-r.Clock/1000) * time.Millisecond
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
