package restarts

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend/redis/redistest"
	"github.com/lockgw/lockgw/cmd/lockgw/e2e"
	"github.com/lockgw/lockgw/cmd/lockgw/history"
)

// rig is gateways over one store, and their clients.
type rig struct {
	t        *testing.T
	redis    *redistest.Server // nil: another store
	gateways []*gateway
	seed     uint64
	rng      *rand.Rand
	led      *ledger
	watch    *watch // nil but over Redis
	holders  []*holder

	ctx       context.Context // of those who wait, to the very end
	working   context.Context // of those who hold and call
	cancel    []context.CancelFunc
	workers   sync.WaitGroup
	waiters   sync.WaitGroup
	deserters sync.WaitGroup
	watching  sync.WaitGroup

	kills, stops int
	away         []time.Duration
}

// newRig has gateways over the store at url, which may be that of a Redis.
func newRig(t *testing.T, url string, redis *redistest.Server, gateways int, seed uint64) *rig {
	r := &rig{t: t, redis: redis, seed: seed, rng: rand.New(rand.NewPCG(seed, 0)), led: &ledger{}}
	dir := e2e.ShortDir(t)
	if redis != nil {
		r.watch = newWatch(redis.Client(), r.led)
	}
	for i := range gateways {
		r.gateways = append(r.gateways, newGateway(t, dir, fmt.Sprint("g", i+1), url))
	}
	r.start(r.gateways)
	for _, g := range r.gateways {
		if err := g.await(); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// begin brings in the clients.
func (r *rig) begin() {
	all, stopAll := context.WithCancel(context.Background())
	working, stopWorking := context.WithCancel(all)
	r.ctx, r.working, r.cancel = all, working, []context.CancelFunc{stopWorking, stopAll}
	r.t.Cleanup(stopAll)
	if r.watch != nil {
		r.watching.Go(func() { r.watch.run(all) })
	}
	for i, g := range r.gateways {
		r.hold(i, g)
	}
	for i := range r.gateways {
		for _, g := range r.gateways { // those of all gateways wait for what each one holds
			w := &waiter{id: 200 + len(r.gateways)*i + int(g.Name[1]), g: g, led: r.led, name: fmt.Sprintf("bound-%d", i)}
			r.waiters.Go(func() { w.run(all) })
		}
	}
	for i, g := range r.gateways {
		for n := range 4 {
			r.call(i*10+n, g, n%2 == 0)
		}
	}
}

// hold brings in a holder of each kind.
func (r *rig) hold(i int, g *gateway) {
	doors := []func() (door, error){
		func() (door, error) { return openBound(r.ctx, g, child(r.t).Process.Pid) },
		func() (door, error) { return openWeb(r.ctx, g, `{"keepalive":"10m"}`) },
		func() (door, error) { return openLine(r.ctx, g, 0) },
	}
	for kind, names := range [][]string{
		{fmt.Sprintf("bound-%d", i)},
		{fmt.Sprintf("kept-%d-a", i), fmt.Sprintf("kept-%d-b", i), fmt.Sprintf("kept-%d-c", i)},
		{fmt.Sprintf("connected-%d-a", i), fmt.Sprintf("connected-%d-b", i)},
	} {
		d, err := doors[kind]()
		if err != nil {
			r.t.Fatal(err)
		}
		h := &holder{
			id: 100 + 10*i + kind, g: g, door: d, led: r.led, watch: r.watch,
			held: map[string]*history.Op{}, as: map[string]lock{},
		}
		for n, name := range names {
			if err := h.take(r.ctx, name, n+1); err != nil {
				r.t.Fatal(err)
			}
		}
		r.holders = append(r.holders, h)
		r.workers.Go(func() { h.run(r.working) })
	}
}

// call brings in a caller, by resp.sock or by http.sock.
func (r *rig) call(id int, g *gateway, byLine bool) {
	c := &caller{
		id: id, g: g, led: r.led, rng: rand.New(rand.NewPCG(r.seed, uint64(1+id))),
		names: []string{"hot-1", "hot-2", "hot-3", fmt.Sprint("own-", g.Name)}, over: r.working.Done(),
	}
	c.open = func(context.Context) (door, error) { return &webDoor{g: g, lose: c.lose}, nil }
	if byLine {
		c.open = func(ctx context.Context) (door, error) {
			d, err := openLine(ctx, g, time.Minute)
			d.lose = c.lose
			return d, err
		}
	}
	r.workers.Go(func() { c.run(r.working) })
}

// end has all clients leave, and looks for what they have left in the store.
func (r *rig) end() {
	r.cancel[0]()
	r.workers.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	for _, h := range r.holders {
		h.leave(ctx)
	}
	given := make(chan struct{})
	go func() { r.waiters.Wait(); close(given) }()
	select {
	case <-given:
	case <-ctx.Done():
	}
	r.deserters.Wait()
	r.cancel[1]()
	<-given
	r.watching.Wait()
	if !r.t.Failed() {
		r.clean()
	}
}
