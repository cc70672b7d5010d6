package redis_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend/redis"
	"github.com/lockgw/lockgw/backend/redis/redistest"
	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/session/journal"
)

// What Redis does for a full semaphore is the same for 20 who wait at a gateway as for 2,000:
// while they come, while the gateway is started again and they come back, and while permits
// become free; and so is the size of the record.
func TestWaitersCostNothingOverARestart(t *testing.T) {
	t.Parallel()
	few, many := overARestart(t, 20), overARestart(t, 2000)
	t.Logf("20 waiters: %+v; 2000: %+v", few, many)
	for name, one := range map[string]struct{ few, many, more int64 }{ // who comes beside a request asks once more
		"the wait": {few.wait, many.wait, 200}, "the restart": {few.restart, many.restart, 200}, "the grants": {few.grants, many.grants, 200},
		"the record": {few.record, many.record, 400}, "the record after the restart": {few.after, many.after, 400}, // a caller that is told of or not yet
	} {
		if one.many > one.few+one.more {
			t.Errorf("%s: %d with 20 waiters, and %d with 2000", name, one.few, one.many)
		}
	}
}

// cost is in commands, but for the sizes of the record in bytes.
type cost struct{ wait, restart, grants, record, after int64 }

func overARestart(t *testing.T, waiters int) (c cost) {
	s := redistest.Start(t)
	rdb := s.Client()
	permit := session.Acquire{Limit: 4, Wait: 5 * time.Minute}
	cfg := session.Config{TTL: 10 * time.Minute, KeepHolds: true}
	other := client(t, gatewaysAt(t, redistest.Patient(s.URL()), 1, cfg)[0])
	for thread := range int64(2) {
		mine := permit
		mine.Thread = thread + 1
		if _, err := other.Acquire(t.Context(), "x", mine); err != nil {
			t.Fatal(err)
		}
	}
	p := &process{t: t, url: redistest.Patient(s.URL()), cfg: cfg, dir: t.TempDir()}
	p.start()
	defer func() { p.stop() }()
	holder, token, err := p.Open(session.Options{Peer: session.NoPeer(), Keepalive: 10 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	for thread := range int64(2) {
		mine := permit
		mine.Thread = thread + 1
		if _, err := holder.Acquire(t.Context(), "x", mine); err != nil {
			t.Fatal(err)
		}
	}
	size := func() int64 { return rdb.StrLen(t.Context(), "lockgw:{x}").Val() }
	c.wait = commands(t, s, func() { p.crowd(permit, waiters) })
	c.record = size()
	c.restart = commands(t, s, func() {
		p.stop()
		p.start()
		p.crowd(permit, waiters)
	})
	c.after = size()
	if holder, err = p.Lookup(token); err != nil {
		t.Fatal(err)
	}
	c.grants = commands(t, s, func() {
		for i, one := range []*session.Session{holder, other, holder} {
			if r, err := one.Release(t.Context(), "x", int64(i/2+1), false, ""); err != nil || r.Pending {
				t.Errorf("release: %+v, %v", r, err)
			}
			within(t, "the next one has the permit", func() bool { return p.Stats().Waiters == waiters-i-1 })
		}
	})
	return c
}

// process is a gateway's, with what it leaves to the next one.
type process struct {
	*session.Manager
	t       *testing.T
	url     string
	cfg     session.Config
	dir     string
	table   *redis.Table
	journal *journal.Journal
	callers sync.WaitGroup
}

func (p *process) start() {
	p.t.Helper()
	j, past, err := journal.Open(p.dir)
	if err != nil {
		p.t.Fatal(err)
	}
	cfg := p.cfg
	cfg.Node, cfg.Journal, cfg.Past = "again", j, past
	p.journal, p.table = j, openTable(p.t, p.url, past.Node, redis.GuardQuarantine)
	p.Manager = session.New(p.table, cfg)
	within(p.t, "the gateway is ready", func() bool { return p.Ping(p.t.Context()) == nil })
}

// stop ends the process, which leaves what is held to the next one.
func (p *process) stop() {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := p.Close(ctx); err != nil {
		p.t.Errorf("close: %v", err)
	}
	_ = p.journal.Close()
	_ = p.table.Close()
	p.callers.Wait()
}

// crowd has n callers wait, each of a session of its own, one after the other: each is in the
// queue before the next one comes. One that is granted keeps what it has.
func (p *process) crowd(a session.Acquire, n int) {
	p.t.Helper()
	for range n {
		g, w, err := client(p.t, p.Manager).BeginAcquire(context.Background(), "x", a)
		if w == nil {
			p.t.Fatalf("decided at once: %+v, %v", g, err)
		}
		p.callers.Add(1)
		w.Then(func(session.Grant, error) { p.callers.Done() })
	}
	within(p.t, fmt.Sprint(n, " wait"), func() bool { return p.Stats().Waiters == n })
}
