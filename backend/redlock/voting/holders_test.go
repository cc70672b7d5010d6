package voting

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

// Whatever servers lose, delay, forget or have deleted, no two nodes count on the name at once,
// and its fences grow.
func TestHolders(t *testing.T) {
	grants, worlds := 0, *seeds/5
	for i := range uint64(worlds) {
		w := newWorld(*seed + i)
		synctest.Test(t, func(*testing.T) { w.run() })
		if err := w.check(); err != nil {
			t.Fatalf("seed %d: %v\n%s", *seed+i, err, w)
		}
		grants += len(w.terms)
	}
	if grants < 8*worlds {
		t.Errorf("%d grants in %d histories prove little", grants, worlds)
	}
}

const (
	leaseOf  = 400 * time.Millisecond
	marginOf = leaseOf / 20 // of a holder, for clocks that run at other speeds
	restOf   = leaseOf + 5*time.Second
	termsOf  = 6 // of each node
)

// world is some nodes that want one name of some servers.
type world struct {
	seed    uint64
	rand    *rand.Rand // of who does what to the servers
	deletes bool       // locks are deleted, and nothing else is lost
	began   time.Time
	servers []*server

	mu    sync.Mutex
	terms []term
	log   []event
}

// term is for how long a node counts on a hold.
type term struct {
	node       string
	fence      backend.Fence
	begin, end time.Duration
}

func newWorld(seed uint64) *world {
	return &world{seed: seed, rand: rand.New(rand.NewPCG(seed, 1)), deletes: seed%2 == 0}
}

func (w *world) String() string {
	var b strings.Builder
	for _, e := range w.log {
		fmt.Fprintf(&b, "%v "+e.format+"\n", append([]any{e.at}, e.args...)...)
	}
	return b.String()
}

// event is what somebody has to say.
type event struct {
	at     time.Duration
	format string
	args   []any
}

func (w *world) say(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log = append(w.log, event{w.since(), format, args})
}

func (w *world) since() time.Duration { return time.Since(w.began) }

func (w *world) run() {
	w.began = time.Now()
	for i := range 3 + 2*w.rand.IntN(2) {
		s := &server{w: w, number: i, speed: 980 + w.rand.IntN(40)}
		s.forget()
		w.servers = append(w.servers, s)
	}
	over := make(chan struct{})
	var nodes, faults sync.WaitGroup
	faults.Go(func() { w.harm(over) })
	for i := range 3 {
		nodes.Go(func() { w.compete(fmt.Sprint("n", i), uint64(i)) })
	}
	nodes.Wait()
	close(over)
	faults.Wait()
	time.Sleep(time.Minute) // all that is late has come
}

// harm does to servers what may happen to a minority of them at a time. Who counts on a hold
// needs a majority that has it: where locks are deleted no renewal may be lost besides.
func (w *world) harm(over <-chan struct{}) {
	few := (len(w.servers) - 1) / 2
	for {
		w.wait(over, time.Duration(w.rand.Int64N(int64(leaseOf))))
		select {
		case <-over:
			return
		default:
		}
		some := w.rand.Perm(len(w.servers))[:1+w.rand.IntN(few)]
		switch {
		case w.deletes:
			w.harmAll(some, "their lock is deleted", (*server).unlock)
			w.wait(over, 8*leaseOf) // until another hold has begun
		case w.rand.IntN(4) == 0:
			w.harmAll(some, "restarted", (*server).restart)
			w.wait(over, restOf)
		default:
			d := time.Duration(w.rand.Int64N(int64(leaseOf)))
			w.harmAll(some, fmt.Sprint("hang for ", d), func(s *server) { s.hang(d) })
		}
	}
}

func (w *world) harmAll(some []int, what string, harm func(*server)) {
	w.say("servers %v: %s", some, what)
	for _, i := range some {
		harm(w.servers[i])
	}
}

func (w *world) wait(over <-chan struct{}, d time.Duration) {
	select {
	case <-over:
	case <-time.After(d):
	}
}

// compete has a node take the name some times, keep it for a while, and give it back or not.
func (w *world) compete(node string, number uint64) {
	r := rand.New(rand.NewPCG(w.seed, 100+number))
	table := w.open(node, number)
	defer func() { _ = table.Close() }()
	floor := backend.Fence(0)
	for range termsOf {
		if r.IntN(8) == 0 { // another process
			_ = table.Close()
			table = w.open(node, number)
		}
		op := ledger.Op{Want: 1, Try: r.IntN(4) == 0, Floor: floor}
		for deadline := w.since() + 2*restOf; w.since() < deadline; {
			sent := w.since()
			reply, err := w.do(table, op)
			w.say("%s asks since %v: %+v, %v", node, sent, reply, err)
			if h := reply.Record.Firm(node); err == nil && reply.Written && h != nil {
				floor = reply.Record.Top
				w.hold(table, r, h.Block, h.ID, sent)
				break
			}
			time.Sleep(time.Duration(r.Int64N(int64(leaseOf / 4))))
		}
	}
}

func (w *world) open(node string, number uint64) *Table {
	var links []ledger.Table
	far := leaseOf
	if w.deletes {
		far /= 8
	}
	for i, s := range w.servers {
		links = append(links, &link{Table: s.of(node), h: newHistory(w.seed), rand: rand.New(rand.NewPCG(w.seed, 10*number+uint64(i))), safe: w.deletes, far: far})
	}
	t := New(links)
	t.clock = w.since
	t.Listen(func(ledger.Addressed) {})
	return t
}

func (w *world) do(t *Table, op ledger.Op) (ledger.Reply, error) {
	ctx, cancel := context.WithTimeout(context.Background(), leaseOf/2)
	defer cancel()
	seen, err := t.Look(ctx, "x")
	if err != nil {
		return ledger.Reply{}, err
	}
	op.Node, op.Turns, op.OfferTTL, op.Lapse = t.Node(), 4, leaseOf/4, true
	if op.TTL == 0 {
		op.TTL = leaseOf
	}
	next, effects := ledger.Step(seen.Record, op, 0)
	if next.Same(&seen.Record) {
		return seen, nil
	}
	return t.Swap(ctx, ledger.Swap{Name: "x", Base: seen.Version, Record: next, Effects: effects, Floor: op.Floor})
}

// hold counts on a hold for some renewals, and gives it back or leaves it to its lease.
func (w *world) hold(t *Table, r *rand.Rand, fence, id backend.Fence, sent time.Duration) {
	one := term{node: t.Node(), fence: fence, begin: w.since(), end: sent + leaseOf - marginOf}
	for range r.IntN(6) {
		pause := leaseOf/8 + time.Duration(r.Int64N(int64(leaseOf*3/4))) // often too late
		if r.IntN(3) == 0 && w.since() < one.end {                       // a write of the holder, by which its lease becomes a short one
			sent := w.since()
			one.end = min(one.end, sent+leaseOf/4-marginOf)
			reply, err := w.do(t, ledger.Op{Hold: id, Keep: 1, TTL: leaseOf / 4, Extend: true})
			w.say("%s writes since %v: %+v, %v", t.Node(), sent, reply, err)
			pause /= 16
		}
		time.Sleep(pause)
		sent := w.since()
		ctx, cancel := context.WithTimeout(context.Background(), leaseOf/3)
		errs, err := t.Renew(ctx, []ledger.Renewal{{Name: "x", ID: id, TTL: leaseOf}})
		cancel()
		w.say("%s renews since %v: %v, %v", t.Node(), sent, errs, err)
		if err != nil || errs[0] != nil || w.since() > one.end {
			continue
		}
		one.end = sent + leaseOf - marginOf
	}
	gives := r.IntN(3) > 0
	if gives && w.since() < one.end {
		one.end = w.since()
	} else if left := one.end - w.since(); left > 0 {
		time.Sleep(left)
	}
	if one.end > one.begin {
		w.mu.Lock()
		w.terms = append(w.terms, one)
		w.mu.Unlock()
	}
	w.say("%s has held by %d from %v to %v", one.node, id, one.begin, one.end)
	for gives {
		reply, err := w.do(t, ledger.Op{Verb: ledger.Leave, Hold: id})
		w.say("%s gives back: %+v, %v", one.node, reply, err)
		gives = r.IntN(2) > 0 && (err != nil || reply.Record.Firm(one.node) != nil)
	}
}

func (w *world) check() error {
	slices.SortFunc(w.terms, func(a, b term) int { return int(a.begin - b.begin) })
	for i := range w.terms[1:] {
		a, b := w.terms[i], w.terms[i+1]
		if b.begin < a.end {
			return fmt.Errorf("two holders: %+v and %+v", a, b)
		}
		if b.fence <= a.fence {
			return fmt.Errorf("a fence came back: %+v and %+v", a, b)
		}
	}
	return nil
}
