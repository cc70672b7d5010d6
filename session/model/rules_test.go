package model

import (
	"reflect"
	"strings"
	"testing"
)

// variant leaves rules out, in an instance that is large enough to show what they
// are for.
type variant struct {
	rules  string // those left out
	breaks Property
	size   size
	Instance
}

// variants are unsafe: each breaks a promise.
var variants = []variant{
	{"FromSending", Exclusion, tiny, turns("1010", 2, Faults{Slow: 2})},
	{"Look", ToldLate, tiny, alone("1", 2, Faults{Pause: 1})},
	{"Final", Revived, tiny, alone("1", 2, Faults{Pause: 1})},
	{"AskAgain", Stuck, tiny, turns("1010", 2, Faults{Crash: 1})},
	{"AgainTakes", Stuck, tiny, turns("1010", 2, Faults{Deaf: 1})},
	{"Confirm", Exclusion, tiny, turns("1010", 2, Faults{Slow: 2})},
	{"Keep", Unaware, tiny, turns("1010", 2, Faults{})},
	{"KeepAll", Unaware, tiny, turns("1010", 2, Faults{})},
	{"KeepAll", Asleep, tiny, alone("1", 2, Faults{Foreign: 1})},
	{"KeepAll", Asleep, tiny, turns("1010", 2, Faults{Deaf: 1})},
	{"Floor", Exclusion, usual, turns("1110", 2, Faults{Answer: 1})},
	{"Floor", Orphan, tiny, alone("1", 2, Faults{Answer: 1})},
	{"Incarnation", Exclusion, tiny, turns("1010", 2, Faults{Crash: 1})},
	{"Rearm", Exclusion, tiny, turns("1010", 2, Faults{Answer: 1, Slow: 1})},
	// Nothing is left over, but after a restart without the record of the intent.
	{"Drop Intent", FenceOrder, tiny, turns("1110", 2, Faults{Crash: 1})},
	{"ByFence", Exclusion, usual, turns("1110", 2, Faults{Answer: 1})},
	{"CancelFrees", Orphan, tiny, alone("1", 2, Faults{Answer: 1, Leave: 1})},
	{"Undo", Orphan, tiny, alone("1", 2, Faults{Answer: 1, Leave: 1})},
	{"GiveBack", Orphan, tiny, turns("1010", 2, Faults{Answer: 1, Leave: 1})},
	{"Withdraw", Orphan, tiny, alone("1", 2, Faults{Answer: 1})},
	{"Suspects", Stuck, usual, turns("1110", 2, Faults{Pause: 1})},
	{"KeepPlace", Displaced, tiny, turns("1010", 2, Faults{Hint: 1})},
	{"WatchNext", Asleep, usual, longer(three(Faults{Pause: 1}))},
	{"ClockFloor", FenceOrder, tiny, alone("11", 1, Faults{Forget: 1})},
	{"NoTurnAfter", Exclusion, tiny, turns("1110", 2, Faults{})},
	{"StoreYields", Bypassed, tiny, turns("1110", 1, Faults{})},
	{"Budget", Bypassed, tiny, turns("2210", 2, Faults{})},
	{"Absolute", WrongCount, tiny, alone("1", 2, Faults{Enter: 2, Answer: 1})},
	{"CountStays", WrongCount, tiny, alone("11", 1, Faults{Enter: 1})},
	{"NotBeside", WrongCount, tiny, alone("11", 2, Faults{Enter: 1})},
	{"Numbered", WrongCount, tiny, alone("11", 2, Faults{Enter: 1})},
	{"Intent", Orphan, tiny, alone("1", 2, Faults{Crash: 1})},
	{"TurnRecord", Exclusion, tiny, alone("11", 2, Faults{Crash: 1})},
	{"EndRecord", Orphan, tiny, alone("1", 2, Faults{Crash: 1})},
	{"DeadlineRecord", Revived, tiny, alone("1", 2, Faults{Crash: 1})},
	{"Quarantine", Exclusion, tiny, turns("1010", 2, Faults{Forget: 1})},
}

// longer leases show who sleeps for longer than a window.
func longer(in Instance) Instance {
	in.Lease++
	return in
}

// without is Sound without some rules.
func without(t *testing.T, rules string) Rules {
	t.Helper()
	r := Sound()
	for _, name := range strings.Fields(rules) {
		f := reflect.ValueOf(&r).Elem().FieldByName(name)
		if !f.IsValid() {
			t.Fatalf("no rule is called %q", name)
		}
		f.SetBool(false)
	}
	return r
}

// Each rule left out breaks a promise, and the search finds that.
func TestRulesAreNeeded(t *testing.T) {
	for _, v := range variants {
		if v.size.skipped() {
			t.Logf("%s: skipped under -race or -short", v.rules)
			continue
		}
		t.Run(strings.ReplaceAll(v.rules, " ", "+")+"/"+v.breaks.String(), func(t *testing.T) {
			t.Parallel()
			v.Ignore = ^v.breaks
			r := Check(without(t, v.rules), v.Instance, 1_000_000, v.breaks)
			trace, found := r.Traces[v.breaks]
			if !found {
				t.Fatalf("%d states, and nothing broken; want %v", r.States, v.breaks)
			}
			t.Logf("found after %d states, in %d steps", r.States, len(trace))
			if *showTraces {
				t.Logf("\n\t%s", strings.Join(trace, "\n\t"))
			}
		})
	}
}

// A rule that is added needs a variant without it.
func TestEveryRuleIsLeftOut(t *testing.T) {
	left := map[string]bool{}
	for _, v := range variants {
		for _, name := range strings.Fields(v.rules) {
			left[name] = true
		}
	}
	for f := range reflect.TypeFor[Rules]().Fields() {
		if !left[f.Name] {
			t.Errorf("no variant leaves out %s", f.Name)
		}
		if !reflect.ValueOf(Sound()).FieldByName(f.Name).Bool() {
			t.Errorf("Sound does without %s", f.Name)
		}
	}
}
