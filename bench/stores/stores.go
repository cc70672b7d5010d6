// Package stores measures a gateway over a store, beside what the users of that store have
// without lockgw.
package stores

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/bench/callers"
	"github.com/lockgw/lockgw/bench/figures"
	"github.com/lockgw/lockgw/bench/rig"
)

// served is a store that is measured beside what its users have without lockgw.
type served struct {
	url string
	// trip is one trivial round trip of its own client, and write one durable
	// compare-and-set of a row or key of the caller's own.
	trip, write func(n int) (callers.Crew, error)
	// table opens what a gateway asks.
	table Opener
	// others are the locks that its users have.
	others []other
	pair   bound // of a lock and its release
	pass   bound // of a hand-over to another node
	close  func() error
}

// bound is writes*w + trips*t.
type bound struct{ writes, trips float64 }

func (b bound) String() string {
	switch {
	case b.writes == 0:
		return fmt.Sprintf("%g t", b.trips)
	case b.trips == 0:
		return fmt.Sprintf("%g w", b.writes)
	default:
		return fmt.Sprintf("%g w + %g t", b.writes, b.trips)
	}
}

// other is a lock without lockgw.
type other struct {
	name string
	// open makes a node with a connection of its own.
	open func(name string) (lock, unlock callers.Op, closes func() error, err error)
	most int // hand-overs in one round, of one that is slow; 0: as many as of the others
}

// stores are those that can be measured.
var stores = map[string]func(ctx context.Context, r *rig.Rig) (*served, error){
	"postgres":  servePostgres,
	"mysql":     serveMySQL,
	"etcd":      serveEtcd,
	"zookeeper": serveZooKeeper,
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

// Names are the stores that can be measured.
func Names() string { return strings.Join(slices.Sorted(maps.Keys(stores)), ", ") }

// Measure measures one store and prints it.
func Measure(ctx context.Context, out io.Writer, name string, p rig.Plan) error {
	begin, ok := stores[name]
	if !ok {
		return fmt.Errorf("no store %q; there are %s", name, Names())
	}
	return rig.Measure(ctx, out, p, func(r *rig.Rig, t *figures.Table) ([]figures.Target, error) {
		if err := r.StartAll(ctx); err != nil {
			return nil, err
		}
		s, err := begin(ctx, r)
		if err != nil {
			return nil, err
		}
		defer func() { _ = s.close() }() // what was measured counts all the same
		if r.Third, err = r.StartGateway(ctx, "third", s.url); err != nil {
			return nil, err
		}
		if r.Fourth, err = r.StartGateway(ctx, "fourth", s.url); err != nil {
			return nil, err
		}
		return s.targets(), s.measure(ctx, r, p, t)
	})
}

func (s *served) measure(ctx context.Context, r *rig.Rig, p rig.Plan, t *figures.Table) error {
	yard := []callers.Contestant{{Name: tripName, Trips: 1, Open: s.trip}, {Name: writeName, Trips: 1, Open: s.write}}
	for _, n := range []int{1, 16} {
		c := callers.Contest{Group: storePairGroup, N: n, Rounds: p.Rounds, Slice: p.Slice, All: slices.Concat(yard, []callers.Contestant{
			{Name: requestName, Trips: 1, Open: Requests(s.table)},
			{Name: onStore, Trips: 1, Open: callers.SocketPairs(callers.Own, r.Third)},
		})}
		for _, o := range s.others {
			c.All = append(c.All, callers.Contestant{Name: o.name, Trips: 1, Open: o.pairs})
		}
		if err := c.Hold(ctx, r, t); err != nil {
			return err
		}
	}
	c := callers.Contest{Group: storePassGroup, N: 2, Rounds: p.Rounds, Slice: p.Slice / 2, All: append(yard,
		callers.Contestant{Name: requestName, Trips: 1, Open: func(int) (callers.Crew, error) { return passTables(s.table, p.Pass) }},
		callers.Contestant{Name: onStore, Trips: 1, Open: func(int) (callers.Crew, error) { return callers.Passes(r.Third, r.Fourth, p.Pass, handHeld) }},
	)}
	for _, o := range s.others {
		c.All = append(c.All, callers.Contestant{Name: o.name, Trips: 1, Open: func(int) (callers.Crew, error) { return o.passes(p.Pass) }})
	}
	if err := c.Hold(ctx, r, t); err != nil {
		return err
	}
	c = callers.Contest{Group: storeCrowdGroup, N: p.Crowd, Rounds: 2 * p.Rounds, All: []callers.Contestant{
		{Name: callers.SocketName, Trips: 1, Open: callers.SocketPairs(callers.One, r.First)},
		{Name: onStore, Trips: 1, Open: callers.SocketPairs(callers.One, r.Third)},
	}}
	return c.Hold(ctx, r, t)
}

// targets are ratios to what was measured in the same round.
func (s *served) targets() (all []figures.Target) {
	against := func(group string, b bound, row string) figures.Target {
		return figures.Target{
			Name:  fmt.Sprintf("%s: %s, median time compared with %s", group, row, b),
			Bound: 1, Ratio: func(t *figures.Table) (float64, bool) {
				n := 1
				if group == storePassGroup {
					n = 2
				}
				return figures.Compare(t, group, n, func(s []figures.Sample) float64 {
					return float64(s[0].P50) / (b.writes*float64(s[1].P50) + b.trips*float64(s[2].P50))
				}, row, writeName, tripName)
			},
		}
	}
	for _, row := range []string{requestName, onStore} {
		all = append(all, against(storePairGroup, s.pair, row), against(storePassGroup, s.pass, row))
	}
	return append(all, figures.Target{
		Name:  storeCrowdGroup + ": time compared with the same on Redis",
		Bound: crowdBound, Ratio: func(t *figures.Table) (float64, bool) {
			return figures.Compare(t, storeCrowdGroup, 0, func(s []figures.Sample) float64 { return s[1].Rate / s[0].Rate }, onStore, callers.SocketName)
		},
	})
}

func (o other) pairs(n int) (c callers.Crew, err error) {
	for i := range n {
		lock, unlock, closes, err := o.open(callers.Own(i))
		if err != nil {
			return c, err
		}
		before := c.Close
		c.Close = func() error {
			if before != nil {
				_ = before()
			}
			return closes()
		}
		c.Ops = append(c.Ops, func() error {
			if err := lock(); err != nil {
				return err
			}
			return unlock()
		})
	}
	return c, nil
}

func (o other) passes(n int) (callers.Crew, error) {
	var locks, unlocks [2]callers.Op
	var closes [2]func() error
	for i := range 2 {
		var err error
		if locks[i], unlocks[i], closes[i], err = o.open("passed"); err != nil {
			return callers.Crew{}, err
		}
	}
	if o.most > 0 {
		n = min(n, o.most)
	}
	return callers.Crew{
		Once: callers.InTurn(n, handHeld, locks, unlocks),
		Close: func() error {
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

func newPlayer(open Opener, node string) (*player, error) {
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
	want := ledger.Op{Want: 1, Turns: 64, TTL: callers.TTL}
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

func passTables(open Opener, n int) (callers.Crew, error) {
	a, err := newPlayer(open, "player-a")
	if err != nil {
		return callers.Crew{}, err
	}
	b, err := newPlayer(open, "player-b")
	if err != nil {
		return callers.Crew{}, err
	}
	return callers.Crew{
		Once: callers.InTurn(n, handHeld, [2]callers.Op{a.lock, b.lock}, [2]callers.Op{a.unlock, b.unlock}),
		Close: func() error {
			_ = a.Close()
			return b.Close()
		},
	}, nil
}
