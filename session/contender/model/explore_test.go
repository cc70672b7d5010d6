package model

import (
	"flag"
	"strings"
	"testing"
)

var (
	only  = flag.String("instance", "", "explore this instance alone, such as \"xx,x again stop request\"")
	limit = flag.Int("states", usual(3_000, 300), "how many states of each instance to visit; 0: all")
)

// usual is n; less under the race detector, which has nothing to find in one goroutine.
func usual(n, race int) int {
	if raceEnabled {
		return race
	}
	return n
}

// parse makes an instance of its name: the callers of each node (x exclusive, s shared,
// p a permit), and what may go wrong, each once.
func parse(t *testing.T, name string) Instance {
	words := strings.Fields(name)
	in := Instance{Callers: strings.Split(words[0], ","), Turns: 2, Ops: 1}
	if n := strings.Count(words[0], "p"); n > 0 {
		in.Permits = max(n-1, 1)
	}
	for _, w := range words[1:] {
		switch w {
		case "kill":
			in.Kill++
		case "stop":
			in.Stop++
		case "message":
			in.Message++
		case "request":
			in.Request++
		case "withdraw":
			in.Withdraw++
		case "vanish":
			in.Vanish++
		case "slow":
			in.Slow++
		case "prolong":
			in.Prolong++
		case "loosen":
			in.Loosen++
		case "hurry":
			in.Hurry++
		case "break":
			in.Break++
		case "delete":
			in.Delete++
		case "fixed":
			in.Fixed = true
		case "again": // and a block of one
			in.Ops, in.Turns = 2, 1
		case "retain":
			in.Retain = true
		case "carry":
			in.Carry = true
		case "strict":
			in.Strict, in.Turns = true, 1
		case "try":
			in.NoWait = true
		default:
			t.Fatalf("%q: what is %q?", name, w)
		}
	}
	return in
}

// instances that are explored: every fault alone for all of these, and pairs of faults
// for the smallest.
func instances() []string {
	faults := []string{"kill", "stop", "message", "request", "withdraw", "vanish", "slow"}
	all := []string{"xx,x again", "sx,s again", "xx,x again slow", "xx,x retain", "xx,x retain request", "xx,x try", "x,x retain try", "xx,x retain try", "x,xx retain try", "x,x retain try request", "x,x retain try message", "x,x retain try kill", "x,x retain try stop", "x,x retain try slow", "sx,s retain try", "pp,p retain try", "x,x,x retain try", "sx,s try request", "pp,p try", "pp,pp try request", "x,x delete", "x,x delete kill", "x,x delete request", "ss,x delete", "ss,x break", "pp,p break", "ss,x break kill", "ss,s break request", "pp,p break slow", "ss,x break message", "xx,x break", "xx,x break kill", "ss,x try", "pp,p try hurry", "ss,x break carry", "pp,p break carry message"}
	for _, callers := range []string{"x,x", "s,x", "p,p", "xx,x", "sx,s", "sx,x", "ss,x", "s,sx", "pp,p", "ppp,p", "pp,pp", "x,x,x", "s,x,s", "p,p,p"} {
		all = append(all, callers)
		for _, f := range faults {
			all = append(all, callers+" "+f)
		}
	}
	for _, callers := range []string{"x,x", "s,x", "p,p", "xx,x", "sx,s", "pp,p", "xx,x again", "xx,x retain", "x,x,x"} {
		all = append(all, callers+" carry")
		for _, f := range faults {
			all = append(all, callers+" carry "+f)
		}
	}
	for _, callers := range []string{"xx,x", "ss,x", "s,xs", "x,x,x", "ppp,p"} {
		all = append(all, callers+" strict")
	}
	for _, callers := range []string{"x,x", "sx,s", "pp,p"} {
		all = append(all, callers+" strict")
		for _, f := range faults {
			all = append(all, callers+" strict "+f)
		}
	}
	for _, callers := range []string{"x,x", "ss,x", "pp,p"} {
		for _, f := range []string{" prolong", " prolong slow request", " prolong slow kill", " fixed", " fixed prolong slow", " fixed loosen prolong kill", " hurry", " hurry request"} {
			all = append(all, callers+f)
		}
	}
	for _, callers := range []string{"x,x", "s,x", "p,p"} {
		for i, f := range faults {
			for _, g := range faults[i+1:] {
				all = append(all, callers+" "+f+" "+g)
			}
		}
	}
	return all
}

func TestInstances(t *testing.T) {
	states, all := *limit, instances()
	if states == 0 {
		states = 1 << 30
	}
	if *only != "" {
		all = []string{*only}
	}
	whole := 0
	for _, name := range all {
		t.Run(name, func(t *testing.T) {
			r := Explore(parse(t, name), states)
			t.Logf("%d states, %d steps, whole: %v", r.States, r.Steps, r.Whole)
			if r.Whole {
				whole++
			}
			if r.Bad != "" {
				t.Errorf("%s:\n\t%s", r.Bad, strings.Join(r.Trace, "\n\t"))
			}
		})
	}
	t.Logf("%d instances, %d of them to the end", len(all), whole)
}
