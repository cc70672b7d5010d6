package redis

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/redis/conn"
	"github.com/lockgw/lockgw/backend/selftest"
)

// trials are of the compare-and-set of each server, before it grants anything; see package
// selftest. The comparison is in a script of lockgw's, and yet it is not sure that it is made:
// what is in place of Redis may run scripts in another way, and a proxy may repeat or change
// requests. A server is tried anew when it has another id, and when messages were interrupted,
// for with a new connection another one may have come between.
type trials struct {
	of sync.Map // *goredis.Client: *trial
}

// trial of one server, as long as that is the same.
type trial struct {
	turn chan struct{} // cap 1: one tries, and the others wait for what comes of it

	mu     sync.RWMutex // guards the fields below
	id     string       // of the server; "": not known yet
	passed bool
	unfit  error     // why it is not used; nil: nothing is known against it
	until  time.Time // unfit is believed in without another try
	doubts int       // how often that was put in doubt
}

// forget has all servers tried before they grant again: by the same trial, for two at a time
// would take each other for somebody else who writes.
func (s *trials) forget() {
	for _, x := range s.of.Range {
		x.(*trial).doubt()
	}
}

// met has c tried again if it had another id when it was tried.
func (s *trials) met(c *goredis.Client, id string) {
	x := s.trial(c)
	x.mu.Lock()
	was := x.id
	x.id = id
	x.mu.Unlock()
	if was != "" && was != id {
		x.doubt()
	}
}

// trial of c, which begins if there is none.
func (s *trials) trial(c *goredis.Client) *trial {
	x, ok := s.of.Load(c)
	if !ok {
		x, _ = s.of.LoadOrStore(c, &trial{turn: make(chan struct{}, 1)})
	}
	return x.(*trial)
}

// failed says why c must not be used; nil: nothing is known against it.
func (s *trials) failed(c *goredis.Client) error {
	x := s.trial(c)
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.unfit
}

// known is what came of it, if that counts still, after so many doubts.
func (x *trial) known() (passed bool, doubts int, err error) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if x.unfit != nil && time.Now().Before(x.until) {
		return false, x.doubts, x.unfit
	}
	return x.passed, x.doubts, nil
}

// doubt has what is known forgotten, and what a try finds that is under way.
func (x *trial) doubt() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.passed, x.unfit = false, nil
	x.doubts++
}

// learn notes what came of a try that began when there were so many doubts. news: it is unfit, and
// was not known to be.
func (x *trial) learn(doubts int, err error) (news bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case doubts != x.doubts:
	case err == nil:
		x.passed, x.unfit = true, nil
	case errors.Is(err, selftest.ErrUnsound):
		news = x.unfit == nil
		x.unfit, x.until = err, time.Now().Add(rest)
	}
	return news
}

// Try tries the compare-and-set of c, one of the masters, unless it was tried already.
// selftest.ErrUnsound: it does not work, and c grants nothing.
func (t *Table) Try(ctx context.Context, c *goredis.Client) error { return t.tried(ctx, c, "") }

// tried comes before each grant by c, the server of raw, and returns nil if its
// compare-and-set works. An error is an ErrRefused.
func (t *Table) tried(ctx context.Context, c *goredis.Client, raw string) error {
	x := t.trials.trial(c)
	if passed, _, err := x.known(); passed || err != nil {
		return err
	}
	select {
	case x.turn <- struct{}{}:
		defer func() { <-x.turn }()
	case <-ctx.Done():
		return fmt.Errorf("%w: its compare-and-set was not tried in time", backend.ErrUnreachable)
	}
	passed, doubts, err := x.known()
	if passed || err != nil {
		return err
	}
	node, ok := t.trialNode(ctx, c, raw)
	if !ok {
		return nil // before its first grant there is a name to try it by
	}
	if err = t.lacking(ctx, node); err == nil {
		err = selftest.Run(ctx, selftest.Store{Look: t.Look, Swap: t.Swap}, node)
	}
	if x.learn(doubts, err) {
		t.cfg.Log.Error("no new locks are granted; held ones are renewed and released", "server", c.Options().Addr, "err", selftest.Reason(err))
	}
	why := backend.ErrRefused
	switch {
	case err == nil || errors.Is(err, backend.ErrRefused):
		return err
	case errors.Is(err, backend.ErrUnavailable): // the breaker has to know
		why = backend.ErrUnreachable
	}
	return fmt.Errorf("%w: its compare-and-set could not be tried: %s", why, err.Error())
}

// trialNode is under which name c is tried, so that the key is in a slot of its own. raw is a
// key of c, or "". false: there is no such slot among those that were looked at.
func (t *Table) trialNode(ctx context.Context, c *goredis.Client, raw string) (string, bool) {
	node := t.cfg.Node.ID
	if !conn.Clustered(t.cfg.URL) {
		return node, true
	}
	for i := range guardKeyTries {
		tag := fmt.Sprintf("{%d}", i)
		if other, err := t.servers.Of(ctx, tag); err == nil && other == c {
			return tag + node, true
		}
	}
	if raw == "" {
		return "", false
	}
	return "{" + tagsOfSlots()[t.servers.Slot(raw)] + "}" + node, true
}
