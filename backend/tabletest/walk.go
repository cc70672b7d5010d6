package tabletest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

// walk is a table beside a ledger.Row to which the same is done.
type walk struct {
	*env
	rnd   *rand.Rand
	nodes []*node
	row   ledger.Row
	began time.Time
	seen  []ledger.Reply // before
	steps []string
}

// walk: whatever is asked of a table, in whatever order, it does what a Row does.
func (e *env) walk() {
	for seed := range uint64(4) {
		k := &walk{env: e, rnd: rand.New(rand.NewPCG(seed, 1)), nodes: []*node{e.a, e.b, e.node("c")}, began: time.Now()}
		k.name = fmt.Sprintf("tabletest:%s:walk%d", e.run, seed)
		for range 80 {
			k.step()
		}
	}
}

func (k *walk) now() time.Duration { return time.Since(k.began) }

func (k *walk) chance(one int) bool { return k.rnd.IntN(one) == 0 }

func (k *walk) step() {
	n := k.nodes[k.rnd.IntN(len(k.nodes))]
	switch k.rnd.IntN(10) {
	case 0:
		k.joins(n)
	case 1:
		k.renews(n)
	default:
		k.swaps(n)
	}
}

// swaps writes what a node may want, over what is there now or was there before.
func (k *walk) swaps(n *node) {
	seen := k.look(n)
	k.same("look", seen)
	if k.seen = append(k.seen, seen); k.chance(5) {
		seen = k.seen[k.rnd.IntN(len(k.seen))]
	}
	op := ledger.Op{Mode: k.mode(), Want: k.rnd.IntN(3), TTL: time.Duration(30+k.rnd.IntN(60)) * time.Second, Turns: 1 + k.rnd.IntN(64)}
	op.Lapse, op.Try, op.Extend, op.Deaf, op.Retains = k.chance(2), k.chance(4), k.chance(4), k.chance(4), k.chance(4)
	op.Waiters, op.At, op.Since, op.Then, op.Strict = k.rnd.IntN(5), int64(k.rnd.IntN(9)), int64(k.rnd.IntN(9)), int64(k.rnd.IntN(9)), k.chance(4)
	op.Callers = []ledger.Caller{{Owner: "x:1", Entries: 1 + k.rnd.IntN(3), Since: int64(k.rnd.IntN(9)), About: []string{"", `{"note":"a 'b' \"c\" \\ %s ü"}`}[k.rnd.IntN(2)]}}
	if mine := seen.Record.Firm(n.id); mine != nil {
		op.Hold, op.Last, op.Callers[0].Fence = mine.ID, mine.ID, mine.ID
		if op.Keep = k.rnd.IntN(mine.Count + 1); op.Keep > 0 {
			op.Mode = mine.Mode
		}
	}
	switch k.rnd.IntN(8) {
	case 0, 1:
		op.Verb, op.Want = ledger.Leave, 0
	case 2:
		if k.chance(3) {
			op.Bar = time.Minute
		}
	case 3:
		if len(seen.Record.Holds) > 0 {
			h := seen.Record.Holds[k.rnd.IntN(len(seen.Record.Holds))]
			op = ledger.Op{Verb: ledger.Break, Hold: h.ID, Caller: h.ID * backend.Fence(k.rnd.IntN(2))}
		}
	}
	s := k.env.step(n, seen, op)
	if s.Record.Same(&seen.Record) && !k.chance(4) {
		return
	}
	k.steps = append(k.steps, fmt.Sprintf("%s %v", n.id[:1], op.Verb))
	r, err := n.Swap(k.ctx(), s)
	if err != nil {
		k.fail("%v", err)
	}
	next := r.Version
	if !r.Written {
		next = "not written"
	}
	clock := backend.Fence(0)
	if k.row.Version == "" { // of a new record only the store knows where fences begin
		clock = r.Record.Top - s.Record.Top
	}
	if r.Written && k.row.Version != "" && n.Info().Type == "redlock" { // no fence that some server alone has seen is reserved again
		s = raised(s, seen.Record.Top, r.Record.Top-s.Record.Top)
	}
	if written := k.row.Swap(s, next, k.now(), clock); written != r.Written {
		k.fail("written %v, want %v", r.Written, written)
	}
	k.same("swap", r)
}

// raised is s with all fences above top larger by d.
func raised(s ledger.Swap, top, d backend.Fence) ledger.Swap {
	raise := func(f *backend.Fence) {
		if *f > top {
			*f += d
		}
	}
	s.Record = s.Record.Clone()
	raise(&s.Record.Top)
	for i := range s.Record.Holds {
		raise(&s.Record.Holds[i].ID)
		raise(&s.Record.Holds[i].Block)
	}
	s.Effects.Stamps = slices.Clone(s.Effects.Stamps)
	for i := range s.Effects.Stamps {
		raise(&s.Effects.Stamps[i].ID)
	}
	return s
}

func (k *walk) mode() backend.Mode {
	if !k.nodes[0].Info().Modes {
		return backend.Exclusive
	}
	return []backend.Mode{backend.Exclusive, backend.Exclusive, backend.Shared, 3}[k.rnd.IntN(4)]
}

func (k *walk) joins(n *node) {
	en := ledger.Entry{Node: n.id, Mode: k.mode(), Want: 1, Since: int64(k.rnd.IntN(9)), Waiters: 1, At: 3}
	k.steps = append(k.steps, n.id[:1]+" joins")
	r, err := n.Join(k.ctx(), k.name, en, 0)
	if err != nil {
		k.fail("%v", err)
	}
	k.row.Join(en, r.Version)
	k.same("join", r)
}

// renews prolongs what n has, or what nobody has.
func (k *walk) renews(n *node) {
	r := ledger.Renewal{Name: k.name, ID: backend.Fence(1 + k.rnd.IntN(9)), TTL: time.Duration(20+k.rnd.IntN(200)) * time.Second}
	if mine := k.row.Record.Firm(n.id); mine != nil && !k.chance(4) {
		r.ID = mine.ID
	}
	k.steps = append(k.steps, n.id[:1]+" renews")
	errs, err := n.Renew(k.ctx(), []ledger.Renewal{r})
	if err != nil {
		k.fail("%v", err)
	}
	if ok := k.row.Renew(r.ID, r.TTL, k.now()); ok != (errs[0] == nil) || !ok && !errors.Is(errs[0], backend.ErrNotHeld) {
		k.fail("renewed %d: %v, want it done: %v", r.ID, errs[0], ok)
	}
	k.same("renewal", k.look(n))
}

// same compares what a table has told with the row.
func (k *walk) same(what string, r ledger.Reply) {
	k.Helper()
	if r.Version == "" && !k.row.Record.InUse() { // a record that nobody uses may go
		k.row = ledger.Row{}
	}
	want := k.row.Reply(k.now())
	if r.Version != want.Version {
		k.fail("%s: version %q, want %q", what, r.Version, want.Version)
	}
	longest := 10 * time.Second       // that a step may take
	if k.a.Info().Type == "redlock" { // of several ends, which the servers have, the last one counts
		longest = time.Hour
	}
	for i, h := range r.Record.Holds {
		if i >= len(want.Record.Holds) {
			break
		}
		if d := h.End - want.Record.Holds[i].End; d < -10*time.Second || d > longest {
			k.fail("%s: %s has it for %v more, want %v", what, h.Node, h.End, want.Record.Holds[i].End)
		}
	}
	if got, want := plain(r.Record), plain(want.Record); !reflect.DeepEqual(got, want) {
		k.fail("%s: there is\n%+v, want\n%+v", what, got, want)
	}
}

// plain is r without what a table keeps beside it, and with one way to say that there is nothing.
func plain(r ledger.Record) ledger.Record {
	r = r.Clone()
	r.Vote = ""
	if len(r.Holds) == 0 {
		r.Holds = nil
	}
	if len(r.Queue) == 0 {
		r.Queue = nil
	}
	for i := range r.Holds {
		h := &r.Holds[i]
		h.End = 0
		if len(h.Breaks) == 0 {
			h.Breaks = nil
		}
		if len(h.Callers) == 0 {
			h.Callers = nil
		}
	}
	return r
}

func (k *walk) fail(format string, args ...any) {
	k.Helper()
	k.Fatalf("%s\nafter %q", fmt.Sprintf(format, args...), k.steps)
}
