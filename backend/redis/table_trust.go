package redis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/redis/conn"
	"github.com/lockgw/lockgw/backend/redis/requests"
	"github.com/lockgw/lockgw/backend/redis/servers"
)

// trust knows the script by which each server may be asked for a grant.
//
// A server is asked who it is and given its script on one connection, which belongs to one
// run of it. The script has the id of the server in it and is sent by its hash alone. So a
// server that was restarted since, and one that took its place, does not know it, and is
// asked who it is before it grants anything; no connection has to be watched for that.
//
// A server that led, followed another one and leads again still knows its script. That it
// has another replication id is seen by the look that is taken each period, and by the
// error of any grant that it refuses meanwhile.
type trust struct {
	asking sync.Mutex // a server; taken before mu

	mu    sync.Mutex // guards the field below
	known map[*goredis.Client]*verdict

	cancel context.CancelFunc
	wg     sync.WaitGroup
}

// verdict on a server.
type verdict struct {
	id     string
	script *requests.Script // nil: it is in quarantine, or full
	frees  *requests.Script // the same for what a full server carries out as well; nil: in quarantine, or no voter
	later  error            // why there is no script
	until  time.Time
}

// rest is how long a quarantine is believed in before it is looked at again: another
// gateway may have waited long enough.
const rest = 500 * time.Millisecond

func (r *trust) start(t *Table) {
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	if t.cfg.Guard == GuardQuarantine {
		r.wg.Go(func() { r.watch(ctx) })
	}
}

func (r *trust) stop() {
	r.cancel()
	r.wg.Wait()
}

// watch asks the servers again and again whether they are who they were.
func (r *trust) watch(ctx context.Context) {
	ticker := time.NewTicker(servers.ProbePeriod / 2)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		for c, v := range r.all() {
			asked, cancel := context.WithTimeout(ctx, conn.IOTimeout)
			if said, err := conn.ReadInfo(asked, c, "server", "replication"); err == nil && v.id != noServer &&
				(said["run_id"]+said["master_replid"] != v.id || said["role"] != "master") || errors.Is(err, goredis.ErrClosed) {
				r.forget(c)
			}
			cancel()
		}
	}
}

func (r *trust) all() map[*goredis.Client]*verdict {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make(map[*goredis.Client]*verdict, len(r.known))
	for c, v := range r.known {
		all[c] = v
	}
	return all
}

func (r *trust) of(c *goredis.Client) *verdict {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.known[c]
}

// forget has c asked again before it grants.
func (r *trust) forget(c *goredis.Client) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.known, c)
}

func (r *trust) forgetAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.known)
}

func (r *trust) learn(c *goredis.Client, v *verdict) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known[c] = v
}

// verdict on c, from memory if that is fresh.
func (t *Table) verdict(ctx context.Context, c *goredis.Client) (*verdict, error) {
	if v := t.trust.of(c); v != nil && (v.script != nil || time.Now().Before(v.until)) {
		return v, nil
	}
	t.trust.asking.Lock()
	defer t.trust.asking.Unlock()
	if v := t.trust.of(c); v != nil && (v.script != nil || time.Now().Before(v.until)) {
		return v, nil // another has asked meanwhile
	}
	t.lookAtServers(false)
	if !t.guard.looked.Load() {
		return nil, errUnknownServer
	}
	v, err := t.ask(ctx, c)
	if err == nil {
		t.trust.learn(c, v)
	}
	return v, err
}

// ask finds out who c is, and gives it its script if it is trusted.
func (t *Table) ask(ctx context.Context, c *goredis.Client) (*verdict, error) {
	one := c.Conn()
	defer one.Close()
	text, err := one.Info(ctx, "server", "replication").Result()
	if err != nil && !conn.Forbidden(err) {
		return nil, notAsked(err)
	}
	said := conn.InfoLines(text)
	id := said["run_id"] + said["master_replid"]
	switch {
	case said["run_id"] == "":
		id = noServer
	case said["role"] != "master":
		t.servers.Failed(ctx)
		return nil, fmt.Errorf("%w: this Redis is a replica: connect to its master", backend.ErrRefused)
	}
	err = t.guard.met(ctx, c, id, false)
	var later *backend.Later
	switch {
	case errors.As(err, &later):
		return &verdict{id: id, later: err, until: time.Now().Add(min(rest, later.After))}, nil
	case err != nil:
		return nil, notAsked(err)
	}
	t.trials.met(c, id)
	v := &verdict{id: id, script: t.swaps.grantBy(id, "")}
	if t.cfg.Voter {
		v.frees = t.swaps.grantBy(id, "allow-oom")
		if err := one.Eval(ctx, v.frees.Source, nil).Err(); err != nil {
			return nil, notAsked(err)
		}
	}
	if err := one.Eval(ctx, v.script.Source, nil).Err(); err != nil {
		if v.frees == nil || !strings.HasPrefix(err.Error(), "OOM ") {
			return nil, notAsked(err)
		}
		v.script, v.later, v.until = nil, notAsked(err), time.Now().Add(rest)
	}
	return v, nil
}

// refusing says why the server of raw grants nothing new; "": it does, as far as is known.
func (t *Table) refusing(ctx context.Context, raw string) string {
	c, err := t.servers.Of(ctx, raw)
	if err != nil {
		return ""
	}
	if err := t.trials.failed(c); err != nil {
		return reason(err)
	}
	if !t.guard.suspects() {
		return ""
	}
	v, err := t.verdict(ctx, c)
	if err != nil || v.later == nil {
		return ""
	}
	return reason(v.later)
}

// notAsked: whatever became of the question who a server is, nothing was granted.
func notAsked(err error) error {
	if err = conn.Outcome(err); !errors.Is(err, backend.ErrRefused) {
		err = fmt.Errorf("%w: Redis does not say who it is: %s", backend.ErrRefused, err.Error())
	}
	return err
}

// triesOfGrant bounds how often a server may forget its script while a grant is asked for.
const triesOfGrant = 4

// grant runs swap.lua for a node that will hold what it did not hold before.
// frees: a full server carries it out, too.
func (t *Table) grant(ctx context.Context, raw string, m *requests.Message, frees bool) (any, error) {
	if t.cfg.Guard != GuardQuarantine {
		c, err := t.servers.Of(ctx, raw)
		if err == nil {
			err = t.tried(ctx, c, raw)
		}
		if err != nil {
			return nil, err
		}
		return t.requests.Eval(ctx, raw, t.swaps.grant, m)
	}
	var err error
	for range triesOfGrant {
		var c *goredis.Client
		if c, err = t.servers.Of(ctx, raw); err != nil {
			return nil, err
		}
		var v *verdict
		if v, err = t.verdict(ctx, c); err != nil {
			return nil, err
		}
		s := v.script
		if frees && v.frees != nil {
			s = v.frees
		}
		if s == nil {
			return nil, v.later
		}
		if err := t.tried(ctx, c, raw); err != nil {
			return nil, err
		}
		var val any
		val, err = t.requests.Eval(ctx, raw, s, m)
		switch {
		case err == nil:
			return val, nil
		case errors.Is(err, conn.ErrForgotten):
			t.trust.forget(c)
		case errors.Is(err, conn.ErrElsewhere):
			t.trust.forget(c)
			return t.grantElsewhere(ctx, m, err)
		default:
			t.trust.forget(c)
			return nil, err
		}
	}
	return nil, err
}

// grantElsewhere follows a redirection, with a script that asks the server itself.
func (t *Table) grantElsewhere(ctx context.Context, m *requests.Message, why error) (any, error) {
	m.Add(t.guard.ids())
	v, err := t.requests.Follow(ctx, t.swaps.grantIfKnown, m, why)
	if a, ok := v.([]any); ok && len(a) > 0 && a[0] == "strange" {
		t.lookAtServers(true)
		return nil, errUnknownServer
	}
	return v, err
}

// ids are those of the servers that are trusted.
func (g *guard) ids() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return strings.Join(g.trusted, " ")
}
