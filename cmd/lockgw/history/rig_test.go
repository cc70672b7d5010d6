package history_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockgw/lockgw/cmd/lockgw/e2e"
)

const nodes = 3

// rig is three gateways over one store, each with a proxy of its own before each server of it.
type rig struct {
	t        testing.TB
	seed     uint64
	s        scenario
	store    store
	atStore  sync.Mutex // held by the fault that concerns the store
	gateways []*gateway
	busy     []sync.Mutex // of each gateway: held by the fault that concerns it
	base     []int        // descriptors of each before the callers came
	rec      *recorder
}

func newRig(t testing.TB, s scenario, seed uint64, program string) *rig {
	dir := e2e.ShortDir(t)
	r := &rig{t: t, seed: seed, s: s, store: stores[cmp.Or(s.scheme, "redis")](t), busy: make([]sync.Mutex, nodes), rec: &recorder{}}
	for i := range nodes {
		var p proxies
		for j, server := range strings.Split(r.store.server(), ",") {
			p = append(p, startProxy(t, server, r.store.listens, r.random(100+i+10*j)))
		}
		g := newGateway(t, dir, fmt.Sprintf("gateway-%d", i+1), program, p, r.store, s)
		if err := g.Start(); err != nil {
			t.Fatal(err)
		}
		r.gateways = append(r.gateways, g)
	}
	for _, g := range r.gateways {
		if err := r.await(g); err != nil {
			t.Fatal(err)
		}
		r.base = append(r.base, g.Descriptors())
		r.awaitLane(g)
	}
	return r
}

// awaitLane: the proxy of g knows which connection is for messages, where there is one. Else
// their faults would hit nothing, and histories say nothing of them.
func (r *rig) awaitLane(g *gateway) {
	for end := time.Now().Add(patience); !slices.Contains(together, r.s.scheme) && !g.proxy.have(messages); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			r.t.Fatalf("%s has no connection that is known to be for messages", g.Name)
		}
	}
}

// random is a source of its own for each part, so that one does not change what
// another draws.
func (r *rig) random(part int) *rand.Rand { return rand.New(rand.NewPCG(r.seed, uint64(part))) }

func (r *rig) await(g *gateway) error {
	return g.Await(context.Background())
}

// run has callers at work, first under faults and then, for the scenario's calm,
// without. It returns when every caller has ended what it had begun.
func (r *rig) run(faulty time.Duration) {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var callers, nemeses, watch sync.WaitGroup
	watched, unwatch := context.WithCancel(context.Background())
	watch.Go(func() { r.rec.watchMachine(watched) })
	for i := range nodes * r.s.callers {
		c := r.caller(i)
		callers.Go(func() { c.run(ctx) })
	}
	until := time.Now().Add(faulty)
	for i := range r.s.nemeses {
		n := &nemesis{rig: r, rng: r.random(200 + i), until: until}
		nemeses.Go(n.run)
	}
	time.Sleep(time.Until(until))
	nemeses.Wait()
	for _, g := range r.gateways {
		g.proxy.thaw()
	}
	time.Sleep(r.s.calm)
	stop()
	callers.Wait()
	unwatch()
	watch.Wait()
}

func (r *rig) caller(i int) *caller {
	c := &caller{id: i, g: r.gateways[i%nodes], s: r.s, rng: r.random(1000 + i), rec: r.rec}
	k := i / nodes
	c.http = k/len(r.s.habits)%2 == 1
	c.h = r.s.habits[k%len(r.s.habits)]
	return c
}
