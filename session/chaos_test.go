package session_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/session"
)

// witness watches one name: who was told that it holds it, and until when.
type witness struct {
	t     *testing.T
	mu    sync.Mutex
	cur   *session.Lease
	by    string
	last  backend.Fence
	count int
}

// enter is called by a caller that was just told.
func (w *witness) enter(l *session.Lease, by string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, err := l.View(); err != nil {
		return false // lost between the telling and here
	}
	if w.cur != nil && held(w.cur) {
		w.t.Errorf("%s holds with fence %d while %s holds with fence %d", by, l.Fence(), w.by, w.cur.Fence())
	}
	if l.Fence() <= w.last {
		w.t.Errorf("%s: fence %d after %d", by, l.Fence(), w.last)
	}
	w.cur, w.by, w.last = l, by, l.Fence()
	w.count++
	return true
}

// leave is called before a release is asked for.
func (w *witness) leave(l *session.Lease) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cur == l {
		w.cur = nil
	}
}

// weather makes a store and its messages unreliable.
type weather struct {
	seed             uint64
	rng              *rand.Rand
	mu               sync.Mutex
	lost, answerLost float64 // requests that do not arrive, answers that do not
	slow             float64 // requests and answers that take up to a lease
	hintLost         float64
	calm             bool
}

func (w *weather) roll(p float64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.calm && w.rng.Float64() < p
}

func (w *weather) pause(ctx func() time.Duration) {
	if w.roll(w.slow) {
		time.Sleep(ctx())
	}
}

func (w *weather) random(d time.Duration) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Duration(w.rng.Int64N(int64(d)))
}

func (w *weather) over(b ledger.Table) ledger.Table {
	hook := func(p float64) func(string) error {
		return func(string) error {
			w.pause(func() time.Duration { return w.random(3 * time.Second) })
			if w.roll(p) {
				return errLost
			}
			return nil
		}
	}
	f := &faulty{Table: b, before: hook(w.lost), after: hook(w.answerLost)}
	f.drop = func(ledger.Addressed) bool { return w.roll(w.hintLost) }
	return f
}

// calmDown ends the bad weather.
func (w *weather) calmDown() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calm = true
}

func TestChaos(t *testing.T) {
	modes := map[string]session.Fairness{
		"turns":  {MaxTurns: 3},
		"strict": {Strict: true},
		"exact":  {MaxTurns: 2, ExactOwner: true},
	}
	for name, f := range modes {
		for seed := range uint64(chaosSeeds) {
			t.Run(fmt.Sprintf("%s-%d", name, seed), func(t *testing.T) {
				bubble(t, func(t *testing.T) { chaos(t, f, seed) })
			})
		}
	}
}

const chaosSeeds = 40

func chaos(t *testing.T, f session.Fairness, seed uint64) {
	w := &weather{seed: seed, rng: rand.New(rand.NewPCG(seed, 7)), lost: .03, answerLost: .03, slow: .03, hintLost: .1}
	if seed%4 == 0 {
		w.lost, w.answerLost, w.slow, w.hintLost = 0, 0, 0, 0
	}
	const nodes, callers, rounds = 3, 4, 12
	c := newCluster(t, nodes, session.Config{TTL: 2 * time.Second, Fairness: f, Timeout: time.Second},
		func(_ int, b ledger.Table) ledger.Table { return w.over(b) })
	wit := &witness{t: t}
	var wg sync.WaitGroup
	for i := range nodes * callers {
		wg.Go(func() { caller(t, c, w, wit, i%nodes, i, rounds) })
	}
	wg.Wait()
	w.calmDown()
	time.Sleep(time.Minute)
	synctest.Wait()
	for i, m := range c.nodes {
		if st := m.Stats(); st.Holds+st.Waiters != 0 {
			t.Errorf("node %d: %+v left over", i, st)
		}
	}
	st, err := c.nodes[0].Inspect(t.Context(), "x")
	if err != nil || st.State != session.StateFree || st.Waiters != 0 {
		t.Errorf("status = %+v, %v, want free", st, err)
	}
	if wit.count < rounds*nodes*callers/4 {
		t.Errorf("%d grants, want at least a quarter of what was asked", wit.count)
	}
}

// caller takes the lock some times, gives up some times and dies some times.
func caller(t *testing.T, c *cluster, w *weather, wit *witness, node, id, rounds int) {
	rng := rand.New(rand.NewPCG(uint64(id), w.seed))
	by := fmt.Sprintf("caller %d of node %d", id, node)
	s := c.open(node)
	for range rounds {
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rng.IntN(20_000))*time.Millisecond)
		a := session.Acquire{Wait: time.Duration(rng.IntN(30_000)) * time.Millisecond}
		if rng.IntN(4) == 0 {
			a.TTL = time.Duration(1+rng.IntN(3)) * time.Second
		}
		a.Fixed = rng.IntN(6) == 0
		began := time.Now()
		g, err := s.Acquire(ctx, "x", a)
		cancel()
		if took := time.Since(began); took > a.Wait+2*time.Second {
			t.Errorf("%s: waited %v, asked for %v: %v", by, took, a.Wait, err)
		}
		if err != nil || !wit.enter(g.Lease, by) {
			continue
		}
		time.Sleep(time.Duration(rng.IntN(300)) * time.Millisecond)
		if rng.IntN(30) == 0 {
			time.Sleep(10 * time.Second)
		}
		wit.leave(g.Lease)
		if rng.IntN(10) == 0 {
			s.End(context.Background(), "died")
			s = c.open(node)
			continue
		}
		_, _ = s.Release(context.Background(), "x", 1, true, "") // an error says that it is lost
	}
	s.End(context.Background(), "done")
}
