package redlock_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend/redis/redistest"
	"github.com/lockgw/lockgw/session"
)

var (
	stormFor  = flag.Duration("storm", 2*time.Second, "how long TestStorm breaks things")
	stormSeed = flag.Uint64("storm.seed", 0, "of TestStorm; 0: another each time")
)

// storm is servers, the links of gateways to them, and what callers were granted.
type storm struct {
	servers  []*redistest.Server
	links    []*redistest.Link
	managers []*session.Manager
	records  map[string]*record
	wild     bool          // callers die, hold long and give up early, and some are not served
	over     chan struct{} // closed when callers stop
}

// Gateways whose callers share, hold alone and take permits, while servers are killed,
// emptied and stopped, and links are slow, cut or lose answers. Nobody is told of a hold
// that excludes another one, fences rise, and in the end all are served and nothing is left.
func TestStorm(t *testing.T) {
	seed := *stormSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	for _, c := range []struct {
		name  string
		nodes int
		args  []string
	}{{"durable", 3, durable}, {"forgetful", 5, nil}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			t.Logf("-storm.seed %d", seed)
			st := raise(t, start(t, c.nodes, c.args...), "?max_ttl=1s", time.Second)
			st.wild = true
			var callers, faults sync.WaitGroup
			mend := make(chan struct{})
			faults.Go(func() { st.breakServers(rand.New(rand.NewPCG(seed, 1)), c.args == nil, mend) })
			faults.Go(func() { st.breakLinks(rand.New(rand.NewPCG(seed, 2)), mend) })
			st.call(t, seed, 3, &callers)
			time.Sleep(*stormFor)
			close(mend)
			faults.Wait()
			close(st.over)
			callers.Wait()
			st.serveAll(t)
			st.nothingLeft(t)
			st.report(t)
		})
	}
}

// A lease is so long here that nobody is served by a timer: every wait ends by a message.
func TestNobodyIsForgotten(t *testing.T) {
	t.Parallel()
	seed := *stormSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-storm.seed %d", seed)
	st := raise(t, start(t, 3, durable...), "", time.Minute)
	var callers, faults sync.WaitGroup
	mend := make(chan struct{})
	faults.Go(func() {
		rng := rand.New(rand.NewPCG(seed, 1))
		for pause(mend, 20*time.Millisecond) {
			st.links[rng.IntN(len(st.links))].Delay(time.Duration(rng.IntN(30)) * time.Millisecond)
		}
	})
	st.call(t, seed, 3, &callers)
	time.Sleep(*stormFor)
	close(mend)
	faults.Wait()
	close(st.over)
	callers.Wait()
	st.report(t)
}

func raise(t *testing.T, servers []*redistest.Server, query string, ttl time.Duration) *storm {
	st := &storm{servers: servers, over: make(chan struct{}), records: map[string]*record{
		"lock": {t: t}, "permits": {t: t, limit: 3}, "one": {t: t, limit: 1}, "alone": {t: t},
	}}
	for i := range 4 {
		var addrs []string
		for _, s := range servers {
			l := redistest.Proxy(t, s.Addr)
			st.links, addrs = append(st.links, l), append(addrs, l.Addr)
		}
		st.managers = append(st.managers, gateway(t, "redlock://"+strings.Join(addrs, ",")+query, fmt.Sprint("g", i), ttl))
	}
	return st
}

// pause waits for d; false: done was closed first.
func pause(done <-chan struct{}, d time.Duration) bool {
	select {
	case <-done:
		return false
	case <-time.After(d):
		return true
	}
}

// breakServers breaks one server at a time. One that forgets has to count again before
// another one does.
func (st *storm) breakServers(rng *rand.Rand, forgetful bool, mend <-chan struct{}) {
	var forgot time.Time
	for pause(mend, time.Duration(rng.IntN(300))*time.Millisecond) {
		s := st.servers[rng.IntN(len(st.servers))]
		down := time.Duration(rng.IntN(1500)) * time.Millisecond
		if rng.IntN(2) == 0 || forgetful && time.Since(forgot) < 5*time.Second {
			s.Pause()
			pause(mend, down)
			s.Resume()
			continue
		}
		s.Kill()
		pause(mend, down)
		s.Restart()
		forgot = time.Now()
	}
}

// breakLinks breaks what is between a gateway and a server.
func (st *storm) breakLinks(rng *rand.Rand, mend <-chan struct{}) {
	for pause(mend, time.Duration(rng.IntN(200))*time.Millisecond) {
		l := st.links[rng.IntN(len(st.links))]
		switch rng.IntN(5) {
		case 0:
			l.Set(redistest.BlackHole)
		case 1:
			l.Set(redistest.DropReplies)
		case 2:
			l.Set(redistest.CloseOnReply)
		default:
			l.Delay(time.Duration(rng.IntN(100)) * time.Millisecond)
		}
		for range 2 {
			other := st.links[rng.IntN(len(st.links))]
			other.Delay(0)
			other.Set(redistest.Pass)
		}
	}
	for _, l := range st.links {
		l.Delay(0)
		l.Set(redistest.Pass)
	}
}

// call has n callers of each gateway and name take it and give it back until over.
func (st *storm) call(t *testing.T, seed uint64, n int, wg *sync.WaitGroup) {
	for i, m := range st.managers {
		for j := range n {
			for name, r := range st.records {
				rng := rand.New(rand.NewPCG(seed, uint64(1000*i+10*j+len(name))))
				wg.Go(func() { st.caller(t, m, name, r, rng) })
			}
		}
	}
}

func (st *storm) caller(t *testing.T, m *session.Manager, name string, r *record, rng *rand.Rand) {
	s := client(t, m)
	for pause(st.over, time.Duration(rng.IntN(20))*time.Millisecond) {
		a := session.Acquire{Wait: 5 * limit, Limit: r.limit, Shared: name == "lock" && rng.IntN(3) != 0}
		if st.wild {
			a.Wait = time.Duration(rng.IntN(3000)) * time.Millisecond
		}
		newest := r.newest()
		g, err := s.Acquire(context.Background(), name, a)
		if err != nil {
			if !st.wild {
				t.Errorf("%s, shared %v: not served in %v: %v", name, a.Shared, a.Wait, err)
			}
			continue
		}
		r.enter(g.Lease, newest, a.Shared)
		hold := time.Duration(rng.IntN(15)) * time.Millisecond
		if st.wild && rng.IntN(15) == 0 {
			hold = time.Duration(rng.IntN(2000)) * time.Millisecond
		}
		select {
		case <-time.After(hold):
		case <-g.Lease.Done():
		}
		r.leave(g.Lease)
		if rng.IntN(20) == 0 { // as when its process dies
			s.Close(context.Background(), "died")
			s = client(t, m)
			continue
		}
		_, _ = s.Release(context.Background(), name, 1, true, "") // an error says that it is lost
	}
}

// serveAll: after the storm everybody is served.
func (st *storm) serveAll(t *testing.T) {
	var wg sync.WaitGroup
	for _, m := range st.managers {
		for name, r := range st.records {
			for range 2 {
				s := client(t, m)
				wg.Go(func() {
					if _, err := s.Acquire(context.Background(), name, session.Acquire{Wait: 3 * limit, Limit: r.limit}); err != nil {
						t.Errorf("after the storm: %s: %v", name, err)
					}
					_, _ = s.Release(context.Background(), name, 1, true, "")
				})
			}
		}
	}
	wg.Wait()
}

// nothingLeft: no key is there but what outlives holds, and that has an end.
func (st *storm) nothingLeft(t *testing.T) {
	for _, s := range st.servers {
		c := s.Client()
		eventually(t, "nothing is left", func() error {
			keys, err := c.Keys(t.Context(), "*").Result()
			if err != nil {
				return err
			}
			for _, k := range keys {
				if k == "lockgw:redlock" { // the mark of a server that is used
					continue
				}
				ttl := c.PTTL(t.Context(), k).Val()
				if ttl == -1 {
					t.Errorf("%s has no end", k)
				}
				if !strings.HasPrefix(k, "redisson_lock_token:") && !strings.HasSuffix(k, ":f") && !strings.Contains(k, ":r:") {
					return fmt.Errorf("%s is there for %v more", k, ttl)
				}
			}
			return nil
		})
	}
}

func (st *storm) report(t *testing.T) {
	for name, r := range st.records {
		r.mu.Lock()
		t.Logf("%s: %d grants, %d lost, at most %d at once", name, r.grants, r.lost, r.most)
		if r.grants == 0 {
			t.Errorf("%s: no grants", name)
		}
		r.mu.Unlock()
	}
}
