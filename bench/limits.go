package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// part is what of the limits is measured; "": nothing, "true": all.
type part string

var parts = map[part]func(context.Context, *rig, plan, *table) error{
	"rest": rest, "many": many, "refusals": refusals, "names": onceNames, "attacks": attacks,
}

func partNames() string {
	var names []string
	for _, p := range slices.Sorted(maps.Keys(parts)) {
		names = append(names, string(p))
	}
	return strings.Join(names, ", ")
}

func (p *part) String() string   { return string(*p) }
func (p *part) IsBoolFlag() bool { return true }

// Set is for package flag: "true" stands for no value.
func (p *part) Set(s string) error {
	if *p = part(s); s != "true" && parts[*p] == nil {
		return fmt.Errorf("no part %q; there are %s", s, partNames())
	}
	return nil
}

// measureLimits measures what a gateway bears, and prints it.
func measureLimits(ctx context.Context, out io.Writer, what part, p plan) error {
	return measured(ctx, out, p, func(r *rig, t *table) (reach []target, err error) {
		for _, name := range []part{"rest", "many", "refusals", "names", "attacks"} {
			if what != "true" && what != name {
				continue
			}
			if err := parts[name](ctx, r, p, t); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			reach = append(reach, limitTargets[name]...)
		}
		return reach, nil
	})
}

// figure is a target about one row.
func figure(group, row, unit string, bound float64, name string) target {
	return target{name: name, unit: unit, bound: bound, ratio: func(t *table) (float64, bool) {
		w := t.find(group, row, 0)
		if w == nil {
			return 0, false
		}
		return w.figure, true
	}}
}

var limitTargets = map[part][]target{
	"rest": {
		figure(restGroup, heldRow, "%", 1, "10,000 locks held with a ttl of 30 s: of a core, gateway and Redis together"),
		figure(restGroup, waitRow, "KiB", 12, "callers that wait over the socket, on Redis: memory of the gateway for each"),
		figure(restGroup, idleRow, "MiB", 40, "a gateway that nobody uses, on Redis: memory"),
		figure(restGroup, startRow, "ms", 100, "from the start of a gateway until it is ready, on Redis"),
	},
	"names": {
		figure(namesGroup, "memory://"+laterRow, "times", flat, "names used once, embedded store: memory of the gateway at the end compared with the middle"),
		figure(namesGroup, "redis://"+laterRow, "times", flat, "the same on Redis"),
	},
}

// flat is how much more memory the gateway may have at the end than in the middle.
const flat = 1.1

const (
	restGroup = "at rest"
	manyGroup = "as many as there may be"
	heldRow   = "locks held, ttl 30s, redis://"
	waitRow   = "callers wait, socket, redis://"
	idleRow   = "a gateway that nobody uses, redis://"
	startRow  = "from start to ready, redis://"
)

// note adds a row that is told in words.
func (t *table) note(group, name string, n int, figure float64, format string, args ...any) {
	t.add([]*row{{group: group, name: name, callers: n, figure: figure, note: fmt.Sprintf(format, args...)}}, "")
}

// stores are those over which the limits are measured.
func (r *rig) urls() []string { return []string{"memory://", "redis://" + r.addr} }

// another starts a gateway over a Redis that is empty.
func (r *rig) another(ctx context.Context, url string, flags ...string) (*gateway, error) {
	if err := r.redis.FlushAll(ctx).Err(); err != nil {
		return nil, err
	}
	r.started++
	return r.startGateway(ctx, "limits"+strconv.Itoa(r.started), url, flags...)
}

// redisMemory is what Redis has allocated, in bytes.
func (r *rig) redisMemory(ctx context.Context) (int64, error) {
	info, err := r.redis.Info(ctx, "memory").Result()
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(info, "used_memory:")
	n, _, _ := strings.Cut(rest, "\r")
	return strconv.ParseInt(n, 10, 64)
}

// sizes are what a gateway and the store occupy, in bytes.
type sizes struct {
	gateway, redis, journal, history int64
	keys                             int64 // of Redis
}

func (r *rig) sizes(ctx context.Context, g *gateway) (s sizes, err error) {
	if s.gateway, err = g.memory(); err != nil {
		return s, err
	}
	if s.redis, err = r.redisMemory(ctx); err != nil {
		return s, err
	}
	if s.keys, err = r.redis.DBSize(ctx).Result(); err != nil {
		return s, err
	}
	if s.journal, err = sizeOf(os.DirFS(g.state), "journal"); err != nil {
		return s, err
	}
	s.history, err = sizeOf(os.DirFS(g.state), "history")
	return s, err
}

func (s sizes) less(o sizes) sizes {
	return sizes{s.gateway - o.gateway, s.redis - o.redis, s.journal - o.journal, s.history - o.history, s.keys - o.keys}
}

// each says what one of n costs.
func (s sizes) each(url string, n int) string {
	text := fmt.Sprintf("%.1f KiB of the gateway each", kib(s.gateway, n))
	if url != "memory://" {
		text += fmt.Sprintf(", %.1f KiB of Redis", kib(s.redis, n))
	}
	return text + fmt.Sprintf(", %.1f KiB of the journal", kib(s.journal, n))
}

func kib(bytes int64, n int) float64 { return float64(bytes) / 1024 / float64(n) }

// pause waits, unless ctx is done first.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
