package redis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/boottime"
	"github.com/lockgw/lockgw/backend/redis/conn"
	"github.com/lockgw/lockgw/backend/redis/requests"
	"github.com/lockgw/lockgw/backend/redis/servers"
	"github.com/lockgw/lockgw/backend/selftest"
)

// trust knows the script by which each server may be asked for a grant.
//
// A server is asked who it is and given its script on one connection, which belongs to one
// run of it. The script has the id of the server in it and is sent by its hash alone. So a
// server that was restarted since, and one that took its place, does not know it, and is
// asked who it is before it grants anything; no connection has to be watched for that.
//
// A server that led, followed another one and leads again still knows its script. That it
// has another replication id is seen by the look that is taken each period; what was seen so
// is believed for a moment longer than until the next look, and no longer: a gateway that is
// cut off, or paused, has to ask anew. The error of any grant puts an end to it, too.
type trust struct {
	mu    sync.Mutex // guards the field below
	known map[*goredis.Client]*known

	cancel context.CancelFunc
	wg     sync.WaitGroup
}

// known is what is known of a server, until something puts it in doubt.
type known struct {
	asking  sync.Mutex // one at a time; taken before the trust's mu
	verdict *verdict   // nil: none; the trust's mu guards it
}

// verdict on a server.
type verdict struct {
	id     string
	script *requests.Script // nil: it is in quarantine, full, or a voter that may drop locks
	frees  *requests.Script // the same for what a full server carries out as well; nil: in quarantine, or no voter
	later  error            // why there is no script
	until  time.Time        // where there is none
	over   time.Time        // when later says that there will be one; zero: it does not say

	at atomic.Int64 // the server was who it is at this time of boottime
}

const (
	// rest is how long a quarantine is believed in before it is looked at again: another
	// gateway may have waited long enough.
	rest = 500 * time.Millisecond
	// lookEvery is how often the servers are asked whether they are who they were, and
	// believed is how long that counts.
	lookEvery = servers.ProbePeriod / 2
	believed  = 3 * lookEvery
)

// fresh: nobody need be asked.
func (v *verdict) fresh() bool {
	switch {
	case v == nil:
		return false
	case v.script == nil:
		return time.Now().Before(v.until)
	}
	return v.id == noServer || boottime.Now()-time.Duration(v.at.Load()) < believed
}

func (r *trust) start(t *Table) {
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	if t.cfg.Guard == GuardQuarantine {
		r.wg.Go(func() { r.watch(ctx, t) })
		r.wg.Go(func() { r.scout(ctx, t) })
	}
}

func (r *trust) stop() {
	r.cancel()
	r.wg.Wait()
}

// watch asks the servers again and again whether they are who they were.
func (r *trust) watch(ctx context.Context, t *Table) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		var looks sync.WaitGroup // one that hangs is no reason to doubt the others
		for c, v := range r.all() {
			looks.Go(func() { r.look(ctx, t, c, v) })
		}
		looks.Wait()
	}
}

// look asks c whether it is who it was, and has what it had. One that does not answer is believed
// for a while.
func (r *trust) look(ctx context.Context, t *Table, c *goredis.Client, v *verdict) {
	ctx, cancel := context.WithTimeout(ctx, conn.IOTimeout)
	defer cancel()
	began := boottime.Now()
	id, err := idOf(ctx, c)
	switch {
	case errors.Is(err, conn.ErrClosed):
		r.forget(c)
		t.guard.forgetClient(c)
	case errors.Is(err, errReplica), err == nil && id != v.id:
		r.forget(c)
	case err == nil && t.guard.emptied(ctx, c, id):
		r.forget(c)
	case err == nil:
		if err := t.keeps(ctx, c, id); err != nil { // CONFIG SET tells nobody
			r.replace(c, v, untrusted(id, err))
			return
		}
		v.at.Store(int64(began))
	}
}

// replace has next be what is known of c, if that is v.
func (r *trust) replace(c *goredis.Client, v, next *verdict) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if k := r.known[c]; k != nil && k.verdict == v {
		k.verdict = next
	}
}

func (r *trust) all() map[*goredis.Client]*verdict {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make(map[*goredis.Client]*verdict, len(r.known))
	for c, k := range r.known {
		if k.verdict != nil {
			all[c] = k.verdict
		}
	}
	return all
}

// of is what is known of c, and the verdict, which is fresh or nil.
func (r *trust) of(c *goredis.Client) (*known, *verdict) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := r.known[c]
	if k == nil {
		k = &known{}
		r.known[c] = k
	}
	if !k.verdict.fresh() {
		return k, nil
	}
	return k, k.verdict
}

// forget has c asked again before it grants, also if it is being asked just now.
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

// learn keeps what came of asking c, unless it is in doubt already.
func (r *trust) learn(c *goredis.Client, k *known, v *verdict) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known[c] == k {
		k.verdict = v
	}
}

// verdict on c, from memory if that is fresh.
func (t *Table) verdict(ctx context.Context, c *goredis.Client) (*verdict, error) {
	k, v := t.trust.of(c)
	if v != nil {
		return v, nil
	}
	k.asking.Lock()
	defer k.asking.Unlock()
	t.lookAtServers(false)
	if !t.guard.looked.Load() {
		return nil, t.guard.notLooked()
	}
	if k, v = t.trust.of(c); v != nil {
		return v, nil // another has asked meanwhile
	}
	v, err := t.ask(ctx, c)
	if err == nil {
		t.trust.learn(c, k, v)
	}
	return v, err
}

// ask finds out who c is, and gives it its script if it is trusted.
func (t *Table) ask(ctx context.Context, c *goredis.Client) (*verdict, error) {
	one := c.Conn()
	defer one.Close()
	began := boottime.Now()
	id, err := idOf(ctx, one)
	if err != nil {
		t.servers.Failed(ctx)
		return nil, notAsked(err)
	}
	if err := t.keeps(ctx, c, id); err != nil {
		return untrusted(id, err), nil
	}
	err = t.guard.met(ctx, c, id, false)
	switch {
	case backend.Quarantined(err):
		return untrusted(id, err), nil
	case err != nil:
		return nil, notAsked(err)
	}
	t.trials.met(c, id)
	v := &verdict{id: id, script: t.swaps.grantBy(id, "")}
	v.at.Store(int64(began))
	if t.cfg.Voter {
		v.frees = t.swaps.grantBy(id, "allow-oom")
		if err := one.Eval(ctx, v.frees.Source, nil).Err(); err != nil {
			return nil, notAsked(conn.Outcome(err))
		}
	}
	if err := one.Eval(ctx, v.script.Source, nil).Err(); err != nil {
		if v.frees == nil || !strings.HasPrefix(err.Error(), "OOM ") {
			return nil, notAsked(conn.Outcome(err))
		}
		v.script, v.later, v.until = nil, notAsked(conn.Outcome(err)), time.Now().Add(rest)
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
		return selftest.Reason(err)
	}
	if !t.guard.suspects() {
		return ""
	}
	v, err := t.verdict(ctx, c)
	if err != nil || v.later == nil {
		return ""
	}
	return selftest.Reason(v.later)
}

// notAsked: whatever became of the question who a server is, nothing was granted. That it was
// not answered is for the breaker to know.
func notAsked(err error) error {
	switch {
	case errors.Is(err, backend.ErrRefused):
		return err
	case errors.Is(err, backend.ErrUnavailable):
		return fmt.Errorf("%w: Redis does not say who it is: %s", backend.ErrUnreachable, err.Error())
	}
	return fmt.Errorf("%w: Redis does not say who it is: %s", backend.ErrRefused, err.Error())
}

// ids are those of the servers that are trusted.
func (g *guard) ids() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return strings.Join(g.trusted, " ")
}
