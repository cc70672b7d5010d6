package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lockgw/lockgw/backend/ledger"
)

// served is a store that is measured beside what its users have without lockgw.
type served struct {
	url string
	// trip is one trivial round trip of its own client, and write one durable
	// compare-and-set of a row or key of the caller's own.
	trip, write func(n int) (crew, error)
	// table opens what a gateway asks.
	table opener
	// others are the locks that its users have.
	others []other
	pair   bound // of a lock and its release
	pass   bound // of a hand-over to another node
	close  func() error
}

// bound is writes*w + trips*t.
type bound struct{ writes, trips float64 }

func (b bound) String() string {
	if b.writes == 0 {
		return fmt.Sprintf("%g t", b.trips)
	}
	return fmt.Sprintf("%g w + %g t", b.writes, b.trips)
}

// other is a lock without lockgw.
type other struct {
	name string
	// open makes a node with a connection of its own.
	open func(name string) (lock, unlock op, close func() error, err error)
	most int // hand-overs in one round, of one that is slow; 0: as many as of the others
}

// stores are those that can be measured.
var stores = map[string]func(ctx context.Context, r *rig) (*served, error){
	"postgres": servePostgres,
	"etcd":     serveEtcd,
}

const (
	tripName    = "t: a trivial round trip"
	writeName   = "w: a durable compare-and-set"
	requestName = "lockgw's requests, no gateway"
	onStore     = "lockgw socket, on the store"

	storePairGroup  = "a lock of one's own"
	storePassGroup  = "from node to node, on the store"
	storeCrowdGroup = "one lock for all, once each, on the store"
	// handHeld is how long each node has what goes from one to the other: the other one has
	// asked for it by then.
	handHeld   = 10 * time.Millisecond
	crowdBound = 1.3 // times of the same on Redis
)

func storeNames() string { return strings.Join(slices.Sorted(maps.Keys(stores)), ", ") }

// measureStore measures one store and prints it.
func measureStore(ctx context.Context, out io.Writer, name string, p plan) error {
	begin, ok := stores[name]
	if !ok {
		return fmt.Errorf("no store %q; there are %s", name, storeNames())
	}
	return measured(ctx, out, p, func(r *rig, t *table) ([]target, error) {
		if err := r.startAll(ctx); err != nil {
			return nil, err
		}
		s, err := begin(ctx, r)
		if err != nil {
			return nil, err
		}
		defer func() { _ = s.close() }() // what was measured counts all the same
		if r.third, err = r.startGateway(ctx, "third", s.url); err != nil {
			return nil, err
		}
		if r.fourth, err = r.startGateway(ctx, "fourth", s.url); err != nil {
			return nil, err
		}
		return s.targets(), s.measure(ctx, r, p, t)
	})
}

func (s *served) measure(ctx context.Context, r *rig, p plan, t *table) error {
	yard := []contestant{{name: tripName, trips: 1, open: s.trip}, {name: writeName, trips: 1, open: s.write}}
	for _, n := range []int{1, 16} {
		c := contest{group: storePairGroup, n: n, rounds: p.rounds, once: loadFor(p.slice), all: slices.Concat(yard, []contestant{
			{name: requestName, trips: 1, open: requests(s.table)},
			{name: onStore, trips: 1, open: socketPairs(own, r.third)},
		})}
		for _, o := range s.others {
			c.all = append(c.all, contestant{name: o.name, trips: 1, open: o.pairs})
		}
		if err := c.hold(ctx, r, t); err != nil {
			return err
		}
	}
	c := contest{group: storePassGroup, n: 2, rounds: p.rounds, once: loadFor(p.slice / 2), all: append(yard,
		contestant{name: requestName, trips: 1, open: func(int) (crew, error) { return passTables(s.table, p.pass) }},
		contestant{name: onStore, trips: 1, open: func(int) (crew, error) { return passes(r.third, r.fourth, p.pass, handHeld) }},
	)}
	for _, o := range s.others {
		c.all = append(c.all, contestant{name: o.name, trips: 1, open: func(int) (crew, error) { return o.passes(p.pass) }})
	}
	if err := c.hold(ctx, r, t); err != nil {
		return err
	}
	c = contest{group: storeCrowdGroup, n: p.crowd, rounds: 2 * p.rounds, once: loadFor(0), all: []contestant{
		{name: socketName, trips: 1, open: socketPairs(one, r.first)},
		{name: onStore, trips: 1, open: socketPairs(one, r.third)},
	}}
	return c.hold(ctx, r, t)
}

// targets are ratios to what was measured in the same round.
func (s *served) targets() (all []target) {
	against := func(group string, b bound, row string) target {
		return target{
			name:  fmt.Sprintf("%s: %s, median time compared with %s", group, row, b),
			bound: 1, ratio: func(t *table) (float64, bool) {
				n := 1
				if group == storePassGroup {
					n = 2
				}
				return compare(t, group, n, func(s []sample) float64 {
					return float64(s[0].p50) / (b.writes*float64(s[1].p50) + b.trips*float64(s[2].p50))
				}, row, writeName, tripName)
			},
		}
	}
	for _, row := range []string{requestName, onStore} {
		all = append(all, against(storePairGroup, s.pair, row), against(storePassGroup, s.pass, row))
	}
	return append(all, target{
		name:  storeCrowdGroup + ": time compared with the same on Redis",
		bound: crowdBound, ratio: func(t *table) (float64, bool) {
			return compare(t, storeCrowdGroup, 0, func(s []sample) float64 { return s[1].rate / s[0].rate }, onStore, socketName)
		},
	})
}

func (o other) pairs(n int) (c crew, err error) {
	for i := range n {
		lock, unlock, closes, err := o.open(own(i))
		if err != nil {
			return c, err
		}
		before := c.close
		c.close = func() error {
			if before != nil {
				_ = before()
			}
			return closes()
		}
		c.ops = append(c.ops, func() error {
			if err := lock(); err != nil {
				return err
			}
			return unlock()
		})
	}
	return c, nil
}

func (o other) passes(n int) (crew, error) {
	var locks, unlocks [2]op
	var closes [2]func() error
	for i := range 2 {
		var err error
		if locks[i], unlocks[i], closes[i], err = o.open("passed"); err != nil {
			return crew{}, err
		}
	}
	if o.most > 0 {
		n = min(n, o.most)
	}
	return crew{
		once: inTurn(n, handHeld, locks, unlocks),
		close: func() error {
			_ = closes[0]()
			return closes[1]()
		},
	}, nil
}

// player is a node that has nothing but its table.
type player struct {
	ledger.Table
	heard chan ledger.Addressed
	seen  ledger.Reply
}

const played = "store:passed"

func newPlayer(open opener, node string) (*player, error) {
	t, err := open(node)
	if err != nil {
		return nil, err
	}
	p := &player{Table: t, heard: make(chan ledger.Addressed, 100)}
	t.Listen(func(m ledger.Addressed) {
		if m.Name == played {
			p.heard <- m
		}
	})
	return p, nil
}

// do carries out o on what the node has seen last, as often as others come in between.
func (p *player) do(o ledger.Op) error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	o.Node, o.OfferTTL = p.Node(), 5*time.Second
	for {
		next, effects := ledger.Step(p.seen.Record, o, 0)
		r, err := p.Swap(ctx, ledger.Swap{Name: played, Base: p.seen.Version, Record: next, Effects: effects})
		if err != nil {
			return err
		}
		if p.seen = r; r.Written {
			return nil
		}
	}
}

// lock queues, waits for the message that the name is offered, and takes it.
func (p *player) lock() error {
	want := ledger.Op{Want: 1, Turns: 64, TTL: ttl}
	for {
		if err := p.do(want); err != nil || p.seen.Record.Firm(p.Node()) != nil {
			return err
		}
		select {
		case m := <-p.heard:
			if m.Kind == ledger.Look && m.Reply != nil && m.Reply.Record.Offer(p.Node()) != nil {
				p.seen = *m.Reply
			}
		case <-time.After(10 * time.Second):
			return fmt.Errorf("%s is not told that it is next: %+v", p.Node(), p.seen.Record)
		}
	}
}

func (p *player) unlock() error { return p.do(ledger.Op{Verb: ledger.Leave}) }

func passTables(open opener, n int) (crew, error) {
	a, err := newPlayer(open, "player-a")
	if err != nil {
		return crew{}, err
	}
	b, err := newPlayer(open, "player-b")
	if err != nil {
		return crew{}, err
	}
	return crew{
		once: inTurn(n, handHeld, [2]op{a.lock, b.lock}, [2]op{a.unlock, b.unlock}),
		close: func() error {
			_ = a.Close()
			return b.Close()
		},
	}, nil
}
