package redis_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/boottime"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/redis"
	"github.com/lockgw/lockgw/backend/redis/redistest"
	"github.com/lockgw/lockgw/session/contender"
	"github.com/lockgw/lockgw/session/engine"
)

// gateway is an Engine over a Table, with what wakes its callers.
type gateway struct {
	*engine.Engine
	mu    sync.Mutex // guards the field below
	wakes map[*contender.Caller]chan bool
}

func (g *gateway) wake(c *contender.Caller) chan bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.wakes[c]
}

func (g *gateway) Journal(string, []contender.Entry) {}
func (g *gateway) Granted(c *contender.Caller, _ engine.Path) engine.Turn {
	select {
	case g.wake(c) <- true:
	default:
	}
	return nil
}
func (g *gateway) Ended(c *contender.Caller, _ contender.Reason)                                    { close(g.wake(c)) }
func (g *gateway) Written(*contender.Caller)                                                        {}
func (g *gateway) Answered(*contender.Contender)                                                    {}
func (g *gateway) Jeopardy([]*contender.Caller, error)                                              {}
func (g *gateway) Queued(*contender.Caller)                                                         {}
func (g *gateway) Renewed([]*contender.Caller, ledger.Renewal, time.Duration, time.Duration, error) {}

func openGateway(t *testing.T, url, node string, turns int) *gateway {
	t.Helper()
	alarm, err := boottime.New()
	if err != nil {
		t.Fatal(err)
	}
	g := &gateway{wakes: map[*contender.Caller]chan bool{}}
	g.Engine = engine.New(openTable(t, url, node, redis.GuardQuarantine), g, engine.Config{
		Config: contender.Config{
			Node: node, Turns: turns, TurnTime: 50 * time.Millisecond, Offer: time.Second, Retry: 5 * time.Millisecond, RetryMost: 50 * time.Millisecond,
			Margin: func(ttl time.Duration) time.Duration { return ttl / 100 },
		},
		Timeout: 2 * time.Second, Idle: 100, Clock: boottime.Now, Alarm: alarm,
	})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := g.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return g
}

// hold runs f while c holds the name.
func (g *gateway) hold(t *testing.T, name string, c *contender.Caller, f func()) {
	wake := make(chan bool, 1)
	g.mu.Lock()
	g.wakes[c] = wake
	g.mu.Unlock()
	_, errand, err := g.Enter(name, c)
	if err != nil {
		t.Error(err)
		return
	}
	errand.Do(t.Context())
	limit := time.After(time.Minute)
	for {
		select {
		case granted := <-wake:
			switch {
			case !granted:
				t.Errorf("%s is turned away", c.Owner)
				return
			case g.Find(name).Accept(c):
				f()
				g.Find(name).Release(c).Do(t.Context())
				return
			}
		case <-limit:
			t.Errorf("%s waits for ever", c.Owner)
			g.Find(name).Release(c).Do(t.Context())
			return
		}
	}
}

// Gateways and a program that locks by SET NX PX keep each other out, and all are served.
func TestTableUnderGateways(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, "--notify-keyspace-events", "Kg")
	var (
		held   sync.Mutex // is tried by who holds the lock: nobody else may have it
		last   backend.Fence
		mu     sync.Mutex // guards grants
		grants = map[string]int{}
		wg     sync.WaitGroup
	)
	in := func(who string, fence backend.Fence) {
		if !held.TryLock() {
			t.Errorf("%s holds what another holds", who)
			return
		}
		defer held.Unlock()
		if fence != 0 {
			if fence <= last {
				t.Errorf("fence %d after %d", fence, last)
			}
			last = fence
		}
		mu.Lock()
		grants[who]++
		mu.Unlock()
		time.Sleep(time.Millisecond)
	}
	served := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return grants["n0"] >= 10 && grants["n1"] >= 10 && grants["n2"] >= 10 && grants["SET NX"] >= 5
	}
	least, end := time.Now().Add(3*time.Second), time.Now().Add(2*time.Minute)
	goOn := func() bool { return !t.Failed() && time.Now().Before(end) && (time.Now().Before(least) || !served()) }
	for i := range 3 {
		node := fmt.Sprint("n", i)
		g := openGateway(t, s.URL(), node, 8)
		for j := range 4 {
			wg.Go(func() {
				for k := 0; goOn(); k++ {
					c := &contender.Caller{Owner: backend.Owner(fmt.Sprintf("%s:%d.%d", node, j, k)), TTL: 10 * time.Second}
					g.hold(t, "x", c, func() { in(node, c.Fence) })
					time.Sleep(rand.N(40 * time.Millisecond)) // so that nobody wants it at times
				}
			})
		}
	}
	rdb := s.Client()
	wg.Go(func() {
		for goOn() {
			if rdb.SetNX(t.Context(), "x", "token", 10*time.Second).Val() {
				in("SET NX", 0)
				rdb.Del(t.Context(), "x")
				time.Sleep(10 * time.Millisecond)
			}
			time.Sleep(100 * time.Microsecond)
		}
	})
	wg.Wait()
	if !served() {
		t.Errorf("grants are %v, want 10 for each gateway and 5 for SET NX", grants)
	}
}

// A name that gateways pass on, one turn each, costs Redis some 26 commands a time: who takes
// it has to write twice if the one before has joined the queue again meanwhile, which is not
// always so.
func TestTableHandoverByGateways(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	gs := []*gateway{openGateway(t, s.URL(), "a", 64), openGateway(t, s.URL(), "b", 64)}
	const rounds = 100
	run := func() {
		var wg sync.WaitGroup
		for i, g := range gs {
			wg.Go(func() {
				for k := range rounds {
					c := &contender.Caller{Owner: backend.Owner(fmt.Sprintf("%d:%d", i, k)), TTL: 10 * time.Second}
					g.hold(t, "x", c, func() { time.Sleep(2 * time.Millisecond) })
				}
			})
		}
		wg.Wait()
	}
	run()
	n := commands(t, s, run)
	if per := float64(n) / (2 * rounds); per > 29 {
		t.Errorf("%.1f commands a hand-over, want some 26", per)
	}
}
