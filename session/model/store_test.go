package model

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/memory"
)

const tick = memory.Window / window

// pair is the model's store and the one in memory, asked the same questions.
type pair struct {
	t      *testing.T
	m      *model
	s      state
	store  *memory.Store
	nodes  [maxNodes][]*memory.Backend // by incarnation
	mu     sync.Mutex                  // guards hints
	hints  []string
	fences map[int8]backend.Fence
	rng    *rand.Rand
	seq    [maxPlaces]int8
	past   []request
}

// The model's store answers as memory does, whatever it is asked.
func TestStoreAsBuilt(t *testing.T) {
	for seed := range uint64(1500) {
		synctest.Test(t, func(t *testing.T) {
			places := [][]int8{{0, 1}, {0, 1, 2}, {0, 0, 1}}[seed%3]
			p := &pair{
				t: t, m: &model{Sound(), Instance{Places: places, Turns: 2, Lease: 3}}, store: memory.NewStore(),
				fences: map[int8]backend.Fence{}, rng: rand.New(rand.NewPCG(seed, 1)),
			}
			p.s = p.m.start()
			for n := range p.m.nodes() {
				p.open(n)
			}
			var done []string
			for !t.Failed() && len(done) < 60 {
				done = append(done, p.step())
			}
			if t.Failed() {
				t.Logf("seed %d:\n\t%s", seed, strings.Join(done, "\n\t"))
			}
			for _, all := range p.nodes {
				for _, b := range all {
					_ = b.Close()
				}
			}
		})
	}
}

// open starts a process of node n, later than those before.
func (p *pair) open(n int8) {
	b := memory.Open(p.store, backend.Node{ID: fmt.Sprint("n", n), Incarnation: uint64(p.s.N[n].Inc)})
	b.Listen(func(h backend.Hint) {
		if int(p.s.N[n].Inc) != len(p.nodes[n]) {
			p.t.Errorf("a message to an older process: %v", h)
		}
		text := fmt.Sprintf("%d to n%d.%s", h.Kind, n, h.Slot)
		if h.Kind == backend.HintGranted {
			text += fmt.Sprint(" ", h.Fence)
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.hints = append(p.hints, text)
	})
	p.nodes[n] = append(p.nodes[n], b)
}

func (p *pair) slot(i int8) string {
	if !p.m.strict() {
		return ""
	}
	return fmt.Sprint(i)
}

// step does one thing to both.
func (p *pair) step() string {
	n := int8(p.rng.IntN(int(p.m.nodes())))
	switch p.rng.IntN(20) {
	case 0, 1, 2:
		time.Sleep(tick)
		p.m.tick(&p.s)
		return "tick"
	case 3:
		p.s.N[n].Inc++
		p.s.N[n].Deaf = false
		p.open(n)
		return "restart"
	case 4:
		if p.s.N[n].Deaf {
			return "deaf"
		}
		p.s.N[n].Deaf = true
		_ = p.nodes[n][len(p.nodes[n])-1].Close()
		return "deaf"
	default:
		r := p.request(int8(p.rng.IntN(int(p.m.places()))))
		p.ask(r)
		return fmt.Sprintf("%s: %+v", verbs[r.Verb], r)
	}
}

// request is a new one of contender i, or a repeat.
func (p *pair) request(i int8) request {
	if len(p.past) > 0 && p.rng.IntN(4) == 0 {
		return p.past[p.rng.IntN(len(p.past))]
	}
	h := p.s.H
	if p.rng.IntN(4) == 0 {
		h.Fence = int8(p.rng.IntN(int(p.s.Last.Block) + 1))
	}
	r := request{
		Verb: verb(1 + p.rng.IntN(int(describe))), By: i + 1, Inc: p.s.N[p.m.Places[i]].Inc, Hold: h.Fence, Block: h.Block, Turns: p.m.Turns,
		Queue: p.rng.IntN(3) > 0, Owner: i + 1, Count: int8(1 + p.rng.IntN(3)), Turn: fence{h.Block, int8(1 + p.rng.IntN(2))},
	}
	if r.Verb == extend && !r.Queue {
		r.Turns = int8(1 + p.rng.IntN(int(p.m.Turns)))
	}
	if r.Verb != describe { // as package session does
		r.Count, r.Turn = 1, fence{}
	}
	if r.Verb != confirm && r.Verb != renew {
		p.seq[i]++
		r.Seq = p.seq[i]
		r.Attempt = int8(p.rng.IntN(int(r.Seq) + 1))
	}
	p.past = append(p.past, r)
	return r
}

// ask asks both and compares answers, messages and what is kept.
func (p *pair) ask(r request) {
	i, n := r.By-1, p.m.nodeOf(r.By)
	p.s.P[i].Queue[0] = r.Owner
	p.hints = nil
	q := r
	if q.Verb == acquire || q.Verb == extend || q.Verb == release {
		q.Count = max(q.Count, 1)
	}
	p.m.run(&p.s, &q)
	p.s.Last.Block = p.m.newBlock(&p.s) - 1 // none is used twice, remembered or not
	got := p.real(p.nodes[n][r.Inc-1], r)
	synctest.Wait()
	p.learn(got.Hold, q.A.Hold)
	p.learn(got.Block, q.A.Block)
	p.same("answer", p.words(got), p.said(q.A, r.Verb))
	p.compareMail(r)
	st, err := p.nodes[0][0].Inspect(context.Background(), "x")
	p.same("error of inspect", fmt.Sprint(err), "<nil>")
	h := p.s.H
	p.learn(st.Hold, h.Fence)
	want := fmt.Sprintf("held=%v hold=%d count=%d left=%v", h.By != 0, p.fences[h.Fence], h.Count, time.Duration(h.Left)*tick)
	p.same("lock", fmt.Sprintf("held=%v hold=%d count=%d left=%v", st.Held, st.Hold, st.Count, st.TTL), want)
}
