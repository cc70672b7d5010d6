// Package restarts ends gateways at random moments, by kill -9 and by SIGTERM, and
// starts them again. Their clients live on and check that nobody has noticed.
package restarts

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend/postgres/pgtest"
	"github.com/lockgw/lockgw/backend/redis/redistest"
)

var (
	rounds   = flag.Int("rounds", 10, "TestRestarts: how often gateways are ended and started again")
	seedFlag = flag.Uint64("seed", 0, "TestRestarts: the choices of an earlier run")
)

// TestRestarts has clients of every kind at two gateways over one Redis, at two over
// PostgreSQL, and at one with the embedded store.
//
//	go test -v -run TestRestarts ./cmd/lockgw/restarts -rounds 500 -timeout 0
func TestRestarts(t *testing.T) {
	seed := *seedFlag
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-seed %d", seed)
	fifth := (*rounds + 4) / 5
	t.Run("redis", func(t *testing.T) {
		s := redistest.Start(t)
		play(t, s.URL(), s, 2, *rounds-2*fifth, seed)
	})
	t.Run("postgres", func(t *testing.T) {
		t.Cleanup(pgtest.RemoveTemplate)
		play(t, pgtest.Start(t).URL(), nil, 2, fifth, seed+2)
	})
	t.Run("memory", func(t *testing.T) { play(t, "memory://", nil, 1, fifth, seed+1) })
}

// play is so many rounds at so many gateways over the store at url, which may be that of a
// Redis.
func play(t *testing.T, url string, redis *redistest.Server, gateways, rounds int, seed uint64) {
	r := newRig(t, url, redis, gateways, seed)
	r.begin()
	for n := range rounds {
		if r.led.bad() {
			break
		}
		r.round(n)
	}
	r.end()
	r.led.judge(t)
	if n := len(r.away); n > 0 {
		slices.Sort(r.away)
		t.Logf("%d rounds: %d kills, %d stops; away p50 %v, at most %v", n, r.kills, r.stops, r.away[n/2], r.away[n-1])
	}
	if r.watch != nil {
		t.Log(r.watch)
	}
}

// round ends one gateway or all, perhaps twice, and checks that clients go on.
func (r *rig) round(n int) {
	victims := []*gateway{r.gateways[r.rng.IntN(len(r.gateways))]}
	if r.rng.IntN(6) == 0 {
		victims = r.gateways
	}
	var mortals []*mortal
	var deserters []*deserter
	for _, g := range victims {
		mortals = append(mortals, newMortal(r.t, g, fmt.Sprintf("mortal-%s-%d", g.Name, n)))
		deserters = append(deserters, newDeserter(r.t, g, r.led, fmt.Sprintf("deserter-%s-%d", g.Name, n)))
	}
	r.sleep(300 * time.Millisecond)
	began := now()
	r.stop(victims)
	for i, m := range mortals {
		bury(m.child)
		r.deserters.Go(func() { deserters[i].run(r.ctx) })
	}
	r.sleep(200 * time.Millisecond)
	r.restart(victims)
	r.away = append(r.away, (now() - began).Round(time.Millisecond))
	for _, m := range mortals {
		eventually(r.t, m.name+" is free, as its client has died", func() bool { return m.g.lockState(r.t.Context(), m.name) == "free" })
	}
	r.stand()
}

// restart starts the gateways and waits until they are ready. Now and then they are
// killed once more in the middle of it.
func (r *rig) restart(gs []*gateway) {
	r.start(gs)
	if r.rng.IntN(4) == 0 {
		r.sleep(60 * time.Millisecond)
		for _, g := range gs {
			g.Kill()
			r.kills++
		}
		r.start(gs)
	}
	for _, g := range gs {
		if err := g.await(); err != nil {
			r.t.Fatal(err)
		}
	}
}

// stop ends the gateways by kill -9 or, now and then, as a service manager does.
func (r *rig) stop(gs []*gateway) {
	gently := r.rng.IntN(5) == 0
	for _, g := range gs {
		if !gently {
			g.Kill()
			r.kills++
			continue
		}
		r.stops++
		if err := g.Stop(); err != nil {
			r.t.Fatal(err)
		}
	}
}

func (r *rig) start(gs []*gateway) {
	for _, g := range gs {
		if err := g.Start(); err != nil {
			r.t.Fatal(err)
		}
	}
}

// stand waits until every holder has checked once more that it still holds everything.
func (r *rig) stand() {
	for _, h := range r.holders {
		before := h.looks.Load()
		eventually(r.t, fmt.Sprintf("holder %d looks at what it holds", h.id), func() bool {
			return h.looks.Load() > before || r.led.bad()
		})
		r.led.count(&r.led.kept)
	}
}

func (r *rig) sleep(most time.Duration) { time.Sleep(time.Duration(r.rng.Int64N(int64(most)))) }
