package model

import (
	"flag"
	"fmt"
	"strings"
	"testing"
)

var (
	showTraces = flag.Bool("traces", false, "log the shortest trace that each rule prevents")
	long       = flag.Bool("long", false, "visit the larger instances, too: five minutes, 2 GB")
)

// small: the larger instances take too long.
func small() bool { return testing.Short() || raceEnabled }

// size of an instance, by what it takes to visit it.
type size int

const (
	tiny  size = iota // always
	usual             // not under -race or -short
	large             // only with -long
)

func (z size) skipped() bool { return z == usual && small() || z == large && !*long }

// turns is an instance of two nodes with two callers each, where a node is one
// contender; ops is how often each caller asks.
func turns(ops string, block int8, f Faults) Instance {
	in := Instance{Places: []int8{0, 1}, Turns: block, Lease: 2, Faults: f}
	for k, n := range ops {
		in.Ops[k/callers][k%callers] = int8(n - '0')
	}
	return in
}

// alone is one node with two callers.
func alone(ops string, block int8, f Faults) Instance {
	in := turns(ops, block, f)
	in.Places = in.Places[:1]
	return in
}

// three nodes with one caller each, which asks once.
func three(f Faults) Instance {
	return Instance{Places: []int8{0, 1, 2}, Ops: once, Turns: 2, Lease: 2, Faults: f}
}

// strict is two nodes, and three callers that are a contender each.
func strict(f Faults) Instance {
	return Instance{Places: []int8{0, 0, 1}, Ops: once, Turns: 1, Lease: 2, Faults: f}
}

var once = [maxPlaces][callers]int8{{1}, {1}, {1}}

// single faults.
var single = []Faults{
	{}, {Crash: 1}, {Pause: 1}, {Deaf: 1}, {Hint: 1}, {Answer: 1}, {Leave: 1}, {Foreign: 1}, {Forget: 1}, {Slow: 1},
}

func (f Faults) plus(g Faults) Faults {
	return Faults{
		Crash: f.Crash + g.Crash, Pause: f.Pause + g.Pause, Deaf: f.Deaf + g.Deaf, Hint: f.Hint + g.Hint, Slow: f.Slow + g.Slow,
		Answer: f.Answer + g.Answer, Leave: f.Leave + g.Leave, Enter: f.Enter + g.Enter, Foreign: f.Foreign + g.Foreign, Forget: f.Forget + g.Forget,
	}
}

func (f Faults) String() string {
	text := fmt.Sprintf("%+v", struct{ Crash, Pause, Deaf, Hint, Slow, Answer, Leave, Enter, Foreign, Forget int8 }(f))
	var out []string
	for _, part := range strings.Fields(strings.Trim(text, "{}")) {
		if name, n, _ := strings.Cut(part, ":"); n != "0" {
			out = append(out, name+"="+n)
		}
	}
	return strings.Join(out, ",")
}

type instance struct {
	name string
	size size
	Instance
}

// instances in which no promise may be broken.
func instances() []instance {
	var all []instance
	add := func(z size, name string, in Instance) {
		all = append(all, instance{strings.TrimSuffix(name+"/"+in.Faults.String(), "/"), z, in})
	}
	for k, f := range single {
		add(usual, "turns", turns("1110", 2, f))
		add(sizeIf(f == Faults{} || f.Answer+f.Leave > 0, usual, large), "blocks-of-one", turns("1110", 1, f))
		add(sizeIf(f == Faults{} || f.Hint > 0, usual, large), "three-nodes", three(f))
		add(sizeIf(f == Faults{} || f.Hint+f.Leave > 0, usual, large), "strict", strict(f))
		for _, g := range single[k:] {
			both := f.plus(g)
			in := turns("1010", 2, both)
			if both.Forget+both.Crash+both.Answer > 1 && both.Forget > 0 {
				in.Ignore = Orphan // what the store forgot can come late, and runs out by its lease
			}
			add(sizeIf(both.Slow+both.Leave+both.Hint > 1, tiny, usual), "pairs", in)
			in.Ops = turns("1110", 2, both).Ops
			add(large, "three-callers", in)
		}
	}
	for _, f := range []Faults{{Deaf: 1}, {Foreign: 1}, {Leave: 1}} {
		add(usual, "long-lease", longer(turns("1110", 2, f)))
	}
	add(usual, "many-turns", turns("2210", 2, Faults{}))
	for block := range int8(2) {
		add(usual, "entries", turns("1110", block+1, Faults{Enter: 1}))
		add(tiny, "entries-of-one-node", alone("11", block+1, Faults{Enter: 2, Answer: 1}))
		add(large, "entries", turns("1110", block+1, Faults{Enter: 1, Answer: 1}))
	}
	return all
}

func sizeIf(b bool, yes, no size) size {
	if b {
		return yes
	}
	return no
}

// With all rules, no promise is broken in any state of these instances.
func TestSound(t *testing.T) {
	skipped := 0
	for _, in := range instances() {
		if in.size.skipped() {
			skipped++
			continue
		}
		t.Run(in.name, func(t *testing.T) {
			t.Parallel()
			r := Check(Sound(), in.Instance, 20_000_000, 0)
			t.Logf("%d states, %d steps", r.States, r.Steps)
			if !r.Full {
				t.Error("not all states were visited")
			}
			for p, trace := range r.Traces {
				t.Errorf("broken: %v\n\t%s", p, strings.Join(trace, "\n\t"))
			}
		})
	}
	if skipped > 0 {
		t.Logf("%d larger instances were not visited (-race, -short or no -long)", skipped)
	}
}
