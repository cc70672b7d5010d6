package redlock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

// memory says whether a node may have forgotten locks: it was started less than
// the longest lease ago and has not kept all on its disk, or it drops keys when it is
// full. Such a node's yes to a new grant does not count, for it may have
// said so to somebody else before.
type memory struct {
	maxTTL time.Duration

	mu       sync.Mutex // guards the fields below
	runID    string     // of the server's process, "": not known yet
	examined bool       // that process was asked how it keeps what it is told
	outUntil time.Time
	evicts   string // its policy, if that may drop locks
	hears    bool   // messages arrive
}

// slow is by how much a node's clock may be slow, and its uptime rounded.
func slow(d time.Duration) time.Duration { return d/100 + 1500*time.Millisecond }

// counts: a yes by the process that calls itself runID, up for so many seconds,
// counts. A run id that is new to us is of a restart, whatever uptime says, which
// follows the node's clock; but for the first one there is nothing else to go by.
func (m *memory) counts(runID string, uptime int64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.runID != runID {
		out := m.maxTTL + slow(m.maxTTL)
		if m.runID == "" {
			out -= time.Duration(uptime) * time.Second
		}
		m.runID, m.examined, m.outUntil = runID, false, time.Now().Add(out)
	}
	return m.whyNotLocked() == nil
}

// whyNot is why the node does not count now; nil if it does.
func (m *memory) whyNot() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.whyNotLocked()
}

func (m *memory) whyNotLocked() error {
	left := time.Until(m.outUntil)
	switch {
	case m.runID == "":
		return errors.New("has not answered yet")
	case m.evicts != "":
		return fmt.Errorf("may drop locks when its memory is full: set maxmemory-policy to noeviction there; it is %s", m.evicts)
	case left > 0:
		return fmt.Errorf("has restarted and may have forgotten locks; it counts again in %v", left.Round(time.Second))
	case !m.examined:
		return errors.New("was not asked yet how it keeps locks")
	}
	return nil
}

// learn takes what only a question of its own can tell of the process runID.
func (m *memory) learn(runID string, kept bool, evicts string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.runID != runID {
		return
	}
	m.examined = true
	if m.evicts = evicts; kept {
		m.outUntil = time.Time{}
	}
}

// heard notes whether messages arrive, and tells whether that is news.
func (m *memory) heard(hears bool) (news bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	news = m.hears != hears
	m.hears = hears
	return news
}

func (m *memory) deaf() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.hears {
		return errors.New("messages do not arrive")
	}
	return nil
}

// examine asks the node who it is and how it keeps what it is told.
func (n *node) examine(ctx context.Context) error {
	text, err := n.client.Info(ctx, "server").Result()
	if err != nil {
		return n.outcome(err)
	}
	info := map[string]string{}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		info[name] = value
	}
	uptime, err := strconv.ParseInt(info["uptime_in_seconds"], 10, 64)
	if err != nil || info["run_id"] == "" {
		return fmt.Errorf("%s: INFO does not tell run_id and uptime_in_seconds, by which a restart is noticed", n.addr)
	}
	n.memory.counts(info["run_id"], uptime)
	config, err := n.config(ctx, "append*", "no-appendfsync-on-rewrite", "maxmemory*")
	if err != nil {
		return err
	}
	durable := config["appendonly"] == "yes" && config["appendfsync"] == "always" && config["no-appendfsync-on-rewrite"] == "no"
	mark := n.marked(ctx)
	evicts := config["maxmemory-policy"]
	if evicts == "noeviction" || cmp.Or(config["maxmemory"], "0") == "0" {
		evicts = ""
	}
	n.memory.learn(info["run_id"], durable && mark == markDurable, evicts)
	n.setMark(ctx, mark, durable)
	return nil
}

// config of the node, as far as it tells. A setting that it does not tell, as one
// whose ACL forbids CONFIG, counts as the usual one.
func (n *node) config(ctx context.Context, patterns ...string) (map[string]string, error) {
	config := map[string]string{}
	for _, p := range patterns {
		got, err := n.client.ConfigGet(ctx, p).Result()
		var refused goredis.Error
		if err != nil && !errors.As(err, &refused) {
			return nil, n.outcome(err)
		}
		maps.Copy(config, got)
	}
	return config, nil
}
