package redis

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/redis/conn"
)

// What Config.Guard may say about a Redis that may have forgotten grants: because it
// was restarted, or because a replica has taken over which had not heard of all.
const (
	// GuardNone does nothing about it.
	GuardNone = "none"
	// GuardQuarantine has such a server grant nothing new until every lease that it
	// may have forgotten is over, save names of which it has heard from the newest
	// holder since. Who holds a name may have it written down again meanwhile.
	GuardQuarantine = "quarantine"
)

// guard knows the servers by ids, which change when a server is restarted and when one
// takes over; see guard_id.go. A grant needs a server whose id is trusted; see table_trust.go.
type guard struct {
	period time.Duration // how long a strange server is not trusted
	file   string        // where the ids outlive the process; "": nowhere
	log    *slog.Logger

	looking sync.Mutex   // at the servers; taken before mu
	looked  atomic.Bool  // once
	unknown atomic.Value // string: why a look has found out nothing

	mu      sync.Mutex                  // guards the fields below
	trusted []string                    // ids, the newest last
	strange map[string]time.Time        // since when
	last    map[*goredis.Client]meeting // with whom was trusted there; it may lead to one server after the other
	left    []string                    // ids of servers in whose place another one was trusted since

	saving sync.Mutex // of file; taken before mu
}

const (
	rememberServers = 64
	// noServer is the id that scripts tell where INFO is forbidden.
	noServer = "unknown"
	// guardKey is on each server, with the id that its gateways trust.
	// The number is the first one whose slot the server has.
	guardKey      = "lockgw:guard:{%d}"
	doubted       = "doubted" // there while one that is empty is in quarantine
	guardKeyTries = 256
)

func newGuard(mode string, period time.Duration, file string, log *slog.Logger) *guard {
	g := &guard{period: period, file: file, log: log, strange: map[string]time.Time{}, last: map[*goredis.Client]meeting{}}
	if mode != GuardQuarantine {
		return g
	}
	if file != "" {
		text, _ := os.ReadFile(file) // without, this node begins anew
		for _, word := range strings.Fields(string(text)) {
			if id, left := strings.CutPrefix(word, leftMark); left {
				g.left = append(g.left, id)
			} else {
				g.trusted = append(g.trusted, word)
			}
		}
	}
	return g
}

// suspects: a server may have forgotten grants.
func (g *guard) suspects() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.strange) > 0
}

// met decides about a server. unused: nobody has used
// it before, as far as can be known. nil: it is trusted now, ask again.
func (g *guard) met(ctx context.Context, c *goredis.Client, id string, unused bool) error {
	since, trusted := g.known(id)
	if trusted {
		if still, err := g.still(ctx, c, id); still || err != nil {
			return err
		}
		since, _ = g.known(id)
	}
	if since.IsZero() {
		why, err := g.judge(ctx, c, id, unused)
		if err != nil {
			return err
		}
		if why != "" {
			since = g.suspect(id, why)
			g.save()
		}
	}
	if left := g.period - time.Since(since); left > 0 && !since.IsZero() {
		// Another gateway may have noticed earlier, and waited long enough.
		if _, marked, err := mark(ctx, c); err != nil || marked != id {
			return &backend.Later{Err: fmt.Errorf("%w: %s", backend.ErrRefused, quarantine(since.Add(g.period))), After: left}
		}
	}
	g.follows(c, id)
	g.trust(id)
	g.announce(ctx, c, id)
	return nil
}

// quarantine says until when it lasts, by the one clock that times are told by everywhere. The
// time that is left would be wrong as soon as the words are kept and repeated.
func quarantine(end time.Time) string {
	return fmt.Sprintf("Redis was restarted, emptied or failed over, or may have dropped locks; new locks from %s, what is held goes on (backend.redis.guard)",
		end.UTC().Format(time.RFC3339))
}

func (g *guard) known(id string) (since time.Time, trusted bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.strange[id], slices.Contains(g.trusted, id)
}

func (g *guard) suspect(id, why string) time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	since, known := g.strange[id]
	if !known {
		since = time.Now()
		g.forgetRun(id)
		g.strange[id] = since
		g.log.Warn("Redis may have forgotten locks; it grants no new ones for a while", "why", why, "for", g.period, "server", id)
	}
	return since
}

func (g *guard) trust(id string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if slices.Contains(g.trusted, id) {
		return // another request has met it at the same time
	}
	if _, strange := g.strange[id]; strange {
		g.log.Info("the quarantine of a Redis is over; it grants locks", "server", id, "others_in_quarantine", len(g.strange)-1)
	}
	g.forgetRun(id)
	g.left = slices.DeleteFunc(g.left, func(left string) bool { return runOf(left) == runOf(id) })
	g.trusted = append(g.trusted, id)
	g.trusted = g.trusted[max(0, len(g.trusted)-rememberServers):]
}

// announce has the other gateways, and the next process of this one, know that the
// server is trusted.
func (g *guard) announce(ctx context.Context, c *goredis.Client, id string) {
	if key, _, err := mark(ctx, c); err == nil && key != "" && id != noServer {
		if err := c.Set(ctx, key, id, 0).Err(); err != nil {
			g.log.Warn("other gateways cannot be told that this Redis is trusted, and may wait longer", "err", conn.Outcome(err))
		} else {
			g.noteMark(c, id, key)
		}
	}
	g.save()
}

// leftMark is before the id of a server that was left, in the file.
const leftMark = "left:"

// save has the next process of this gateway know whom it trusts, and whom not any more.
func (g *guard) save() {
	if g.file == "" {
		return
	}
	g.saving.Lock()
	defer g.saving.Unlock()
	g.mu.Lock()
	words := slices.Clone(g.trusted)
	for _, id := range g.left {
		words = append(words, leftMark+id)
	}
	g.mu.Unlock()
	if err := backend.Save(g.file, strings.Join(words, "\n")+"\n"); err != nil {
		g.log.Warn("after its next start this gateway may trust a Redis too early", "err", err)
	}
}

// judge says why the server cannot be trusted, "" if it can.
func (g *guard) judge(ctx context.Context, c *goredis.Client, id string, unused bool) (why string, err error) {
	if id == noServer {
		g.log.Warn("a restart of Redis cannot be seen, for its user may not run INFO; allow it (+info), or set backend.redis.guard to none")
		return "", nil
	}
	key, marked, err := mark(ctx, c)
	switch {
	case err != nil:
		return "", err
	case g.wasLeft(id, marked): // the mark may be from before
		g.doubt(ctx, c, key, marked)
		return "another server has been in its place, and granted what it has not heard of", nil
	case marked == id: // another gateway, or this one before it was started, has waited already
		return "", nil
	case marked == "" && unused:
		return "", nil
	case !inDoubt(key, marked) && g.unbroken(ctx, c, id, marked):
		return "", nil
	case marked == "":
		// A gateway that comes here for the first time would take it for new, and have all
		// others trust it.
		g.doubt(ctx, c, key, marked)
		return "it is empty", nil
	default:
		return "it was restarted, or has taken over from another server", nil
	}
}

// doubt has other gateways know that the server is not to be trusted now, by key, where marked
// stands. One that has waited long enough may put an id there, which stays.
func (g *guard) doubt(ctx context.Context, c *goredis.Client, key, marked string) {
	var err error
	switch {
	case key == "":
	case marked == "":
		err = c.SetNX(ctx, key, doubted, 0).Err()
	default:
		err = c.Set(ctx, key, doubted, 0).Err()
	}
	if err != nil {
		g.log.Warn("other gateways cannot be told that this Redis may have forgotten locks, and may trust it", "err", conn.Outcome(err))
	}
}

// mark reads the id that the server's gateways trust, and tells the key that has it. Of what
// somebody else has put there, whatever its type, it is known that it is none.
func mark(ctx context.Context, c *goredis.Client) (key, id string, err error) {
	for i := range guardKeyTries {
		key = fmt.Sprintf(guardKey, i)
		id, err = c.Get(ctx, key).Result()
		if goredis.HasErrorPrefix(err, "MOVED") || goredis.HasErrorPrefix(err, "ASK") {
			continue // a slot of another server
		}
		switch {
		case errors.Is(err, goredis.Nil):
			err = nil
		case goredis.HasErrorPrefix(err, "WRONGTYPE"):
			id, err = doubted, nil
		}
		return key, id, conn.Outcome(err)
	}
	return "", "", nil
}
