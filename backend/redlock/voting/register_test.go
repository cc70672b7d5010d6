package voting

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/memory"
)

var (
	seeds = flag.Int("seeds", 300, "how many histories TestRegister looks at")
	seed  = flag.Uint64("seed", 1, "the first of them")
)

// The record of a name is a register: whatever is lost or late, and in whichever order, all
// that is told fits one sequence of writes, and no answer is older than one that came before
// its request.
func TestRegister(t *testing.T) {
	told := 0
	for i := range uint64(*seeds) {
		h := newHistory(*seed + i)
		synctest.Test(t, func(*testing.T) { h.run() })
		if err := h.check(); err != nil {
			t.Fatalf("seed %d: %v\n%s", *seed+i, err, h)
		}
		told += len(h.told)
	}
	if told < 10**seeds {
		t.Errorf("%d answers in %d histories prove little", told, *seeds)
	}
}

// history is what some Tables were told of one register.
type history struct {
	seed uint64

	mu   sync.Mutex
	told []*op
	// by version: what was proposed, as the servers were told
	parent map[ledger.Version]ledger.Version
	author map[ledger.Version]string
}

// op is a Swap, or a Look if it writes nothing.
type op struct {
	id         string
	base       ledger.Version
	writes     bool
	start, end time.Duration
	reply      ledger.Reply
	err        error
}

func (o *op) String() string {
	return fmt.Sprintf("%v to %v: %s writes %v on %q: written %v, there is %q, %v", o.start, o.end, o.id, o.writes, o.base, o.reply.Written, o.reply.Version, o.err)
}

func newHistory(seed uint64) *history {
	return &history{seed: seed, parent: map[ledger.Version]ledger.Version{}, author: map[ledger.Version]string{}}
}

func (h *history) String() string {
	var b strings.Builder
	for _, o := range h.told {
		fmt.Fprintln(&b, o)
	}
	for v, p := range h.parent {
		fmt.Fprintf(&b, "%q by %s after %q\n", v, h.author[v], p)
	}
	return b.String()
}

const (
	registers = 3
	proposers = 3
	opsEach   = 8
)

// run has each Table read and write for a while, and then all of them look once more.
func (h *history) run() {
	began := time.Now()
	var stores []*memory.Rows
	for range registers {
		s := memory.NewRows()
		s.Clock = func() time.Duration { return time.Since(began) }
		stores = append(stores, s)
	}
	var all sync.WaitGroup
	var tables []*Table
	for p := range proposers {
		var links []ledger.Table
		for i, s := range stores {
			links = append(links, &link{Table: memory.OpenTable(s, fmt.Sprint("n", p)), h: h, rand: rand.New(rand.NewPCG(h.seed, uint64(10*p+i))), far: 60 * time.Millisecond})
		}
		t := New(links)
		t.nonce = fmt.Sprintf("table%07d", p)
		r := rand.New(rand.NewPCG(h.seed, uint64(1000+p)))
		t.pause = func(try int) time.Duration { return time.Duration(r.Int64N(int64(time.Millisecond) << min(try, 4))) }
		tables = append(tables, t)
		all.Go(func() { h.propose(t, p, began) })
	}
	all.Wait()
	for _, t := range tables {
		t.wg.Wait()
	}
	time.Sleep(100 * time.Millisecond) // all that is late has come
	for p, t := range tables {
		for i := range registers {
			t.tables[i].(*link).calm = true
		}
		o := &op{id: fmt.Sprintf("n%d.end", p), start: time.Since(began)}
		o.reply, o.err = t.Look(context.Background(), "x")
		o.end = time.Since(began)
		h.tell(o)
	}
	for _, t := range tables {
		if err := t.Close(); err != nil {
			panic(err)
		}
	}
}

func (h *history) tell(o *op) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.told = append(h.told, o)
}

func (h *history) propose(t *Table, p int, began time.Time) {
	r := rand.New(rand.NewPCG(h.seed, uint64(2000+p)))
	seen := ledger.Version("")
	for i := range opsEach {
		time.Sleep(time.Duration(r.Int64N(int64(20 * time.Millisecond))))
		o := &op{id: fmt.Sprintf("n%d.%d", p, i), base: seen, writes: r.IntN(4) > 0, start: time.Since(began)}
		ctx, cancel := context.WithTimeout(context.Background(), 150*time.Millisecond)
		if o.writes {
			rec := ledger.Record{Queue: []ledger.Entry{{Node: o.id, Want: 1}, {Node: "after " + string(seen), Want: 1}}}
			o.reply, o.err = t.Swap(ctx, ledger.Swap{Name: "x", Base: seen, Record: rec, Absolute: true})
		} else {
			o.reply, o.err = t.Look(ctx, "x")
		}
		cancel()
		o.end = time.Since(began)
		if o.err == nil {
			seen = o.reply.Version
		}
		h.tell(o)
	}
}

// check looks for a sequence of writes that all answers fit.
func (h *history) check() error {
	next := map[ledger.Version]ledger.Version{} // of those that were told as chosen, and all before them
	place := func(v ledger.Version) (n int, err error) {
		for ; v != ""; n++ {
			p, known := h.parent[v]
			if !known {
				return 0, fmt.Errorf("%q was never proposed", v)
			}
			if other, ok := next[p]; ok && other != v {
				return 0, fmt.Errorf("%q and %q both come after %q", v, other, p)
			}
			next[p], v = v, p
		}
		return n, nil
	}
	places := make([]int, len(h.told))
	for i, o := range h.told {
		if o.err != nil {
			continue
		}
		n, err := place(o.reply.Version)
		if err != nil {
			return fmt.Errorf("%s: %w", o.id, err)
		}
		places[i] = n
	}
	for i, o := range h.told {
		mine := h.author[next[o.base]] == o.id
		switch {
		case o.writes && o.err == nil && o.reply.Written != mine:
			return fmt.Errorf("%s is told written %v, and that is not so", o.id, o.reply.Written)
		case o.writes && errors.Is(o.err, backend.ErrRefused) && mine:
			return fmt.Errorf("%s is told that nothing was written, and it was: %w", o.id, o.err)
		case o.err != nil && !errors.Is(o.err, backend.ErrRefused) && !errors.Is(o.err, backend.ErrUnavailable):
			return fmt.Errorf("%s: %w", o.id, o.err)
		case strings.HasSuffix(o.id, "end") && o.err != nil:
			return fmt.Errorf("%s, when nothing is lost any more: %w", o.id, o.err)
		case o.err != nil:
			continue
		}
		for j, before := range h.told {
			if before.err == nil && before.end < o.start && places[j] > places[i] {
				return fmt.Errorf("%s sees %q after %s has seen %q", o.id, o.reply.Version, before.id, before.reply.Version)
			}
		}
	}
	return nil
}
