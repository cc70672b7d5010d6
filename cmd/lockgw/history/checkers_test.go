package history_test

import (
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/cmd/lockgw/history"
)

const ms = time.Millisecond

// took is a hold of "n" that was asked for and answered, released in time.
func took(caller int, fence uint64, call, answer, release, done time.Duration) history.Op {
	return history.Op{
		Name: "n", Caller: caller, Node: "a", Call: call, Answer: answer, Wait: time.Second,
		Outcome: history.Granted, Fence: fence, Deadline: answer + 1000*ms,
		End: history.Released, EndCall: release, EndAnswer: done,
	}
}

// kept is a hold of which no end was heard.
func kept(caller int, fence uint64, call, answer, deadline time.Duration) history.Op {
	o := took(caller, fence, call, answer, 0, 0)
	o.Deadline, o.End = deadline, history.Standing
	return o
}

func with(o history.Op, change func(*history.Op)) history.Op {
	change(&o)
	return o
}

// good is a history without fault, in which much happens.
var good = []history.Op{
	took(1, 10, 0, 5*ms, 20*ms, 22*ms),
	took(2, 11, 1*ms, 21*ms, 30*ms, 31*ms), // answered before the release was
	kept(3, 12, 2*ms, 32*ms, 500*ms),       // and died
	with(kept(4, 20, 3*ms, 505*ms, 2000*ms), func(o *history.Op) { o.End, o.EndCall = history.HungUp, 600*ms }), // hung up
	with(kept(5, 30, 4*ms, 602*ms, 700*ms), func(o *history.Op) { o.End, o.EndAnswer = history.Lost, 800*ms }),  // told late that it is lost
	with(kept(6, 31, 5*ms, 701*ms, 900*ms), func(o *history.Op) { o.Proven, o.End = 950*ms, history.Broken }),   // renewed until 950
	kept(7, 32, 6*ms, 1650*ms, 1500*ms),          // told after its deadline
	took(8, 33, 7*ms, 1600*ms, 1700*ms, 1701*ms), // told before, granted later
	{Name: "n", Caller: 9, Node: "a", Call: 8 * ms, Answer: 900 * ms, Wait: time.Second, Outcome: history.Refused},       // no grant at all
	with(took(1, 5, 10*ms, 12*ms, 25*ms, 26*ms), func(o *history.Op) { o.Name = "other" }),                               // another lock
	with(took(2, 40, 1800*ms, 1801*ms, 1990*ms, 1991*ms), func(o *history.Op) { o.Again, o.Proven = 40, 1900*ms }),       // entered again
	{Name: "n", Caller: 10, Node: "b", Call: 8 * ms, Answer: 10 * ms, Wait: 0, Outcome: history.Unheard, Why: "hung up"}, // knows nothing
}

func check(t *testing.T, what string, vs []history.Violation, want string) {
	t.Helper()
	var all []string
	for _, v := range vs {
		all = append(all, v.String())
	}
	got := strings.Join(all, "\n")
	if want == "" && got != "" || !strings.Contains(got, want) {
		t.Errorf("%s: found %q, want %q", what, got, want)
	}
}

func TestGoodHistory(t *testing.T) {
	check(t, "overlaps", history.Overlaps(good), "")
	check(t, "fences", history.Fences(good, true), "")
	check(t, "model", history.Linearizable(good, time.Minute), "")
	check(t, "waits", history.Waits(good, nil, 2*time.Second, 0), "")
	check(t, "stalls", history.Stalls(good, nil, 650*ms, 0, all), "")
}

func all(history.Fault) bool { return true }

// Each is a history of two holds or three that no lock gives.
func TestOverlaps(t *testing.T) {
	first := took(1, 10, 0, 5*ms, 20*ms, 30*ms)
	tests := []struct {
		name   string
		first  history.Op
		second history.Op
	}{
		{"granted before the release was asked for", first, took(2, 11, 1*ms, 19*ms, 40*ms, 41*ms)},
		{"within a long one", first, took(2, 11, 6*ms, 7*ms, 8*ms, 9*ms)},
		{"before the deadline of one who died", kept(1, 10, 0, 5*ms, 500*ms), took(2, 11, 1*ms, 499*ms, 600*ms, 601*ms)},
		{"before the loss is known", with(kept(1, 10, 0, 5*ms, 500*ms), func(o *history.Op) { o.End, o.EndAnswer = history.Lost, 400*ms }),
			took(2, 11, 1*ms, 399*ms, 600*ms, 601*ms)},
		{"before the hang-up", with(kept(1, 10, 0, 5*ms, 500*ms), func(o *history.Op) { o.End, o.EndCall = history.HungUp, 100*ms }),
			took(2, 11, 1*ms, 99*ms, 600*ms, 601*ms)},
		{"renewed by the watchdog until the release", with(first, func(o *history.Op) { o.Deadline = 10 * ms }),
			took(2, 11, 1*ms, 15*ms, 40*ms, 41*ms)},
		{"renewed beyond the deadline", with(kept(1, 10, 0, 5*ms, 500*ms), func(o *history.Op) { o.Proven = 900 * ms }),
			took(2, 11, 1*ms, 800*ms, 1000*ms, 1001*ms)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ops := []history.Op{tt.second, tt.first}
			check(t, "overlaps", history.Overlaps(ops), "two callers hold it")
			check(t, "model", history.Linearizable(ops, time.Minute), "no history of one lock: Illegal")
		})
	}
}

// An overlap with a hold that is not the one right before is found, too.
func TestOverlapBehindAShortHold(t *testing.T) {
	ops := []history.Op{
		kept(1, 10, 0, 5*ms, 500*ms), kept(2, 9, 0, 10*ms, 10*ms), took(3, 11, 1*ms, 300*ms, 310*ms, 311*ms),
	}
	check(t, "overlaps", history.Overlaps(ops), "caller 1")
}

func TestFences(t *testing.T) {
	first := took(1, 10, 0, 5*ms, 20*ms, 30*ms)
	tests := []struct {
		name      string
		second    history.Op
		exclusive bool
		want      string
	}{
		{"smaller, asked for later", took(2, 9, 31*ms, 35*ms, 40*ms, 41*ms), false, "fence 9 was given after fence 10"},
		{"smaller, answered later", took(2, 9, 1*ms, 35*ms, 40*ms, 41*ms), true, "fence 9 was given after fence 10"},
		{"the order is not known", took(2, 9, 1*ms, 35*ms, 40*ms, 41*ms), false, ""},
		{"answered too late to say", kept(2, 9, 1*ms, 35*ms, 34*ms), true, ""},
		{"twice", took(2, 10, 31*ms, 35*ms, 40*ms, 41*ms), false, "fence 10 was given twice"},
		{"none", took(2, 0, 31*ms, 35*ms, 40*ms, 41*ms), false, "has no fence"},
		{"changed by re-entry", with(took(2, 11, 31*ms, 35*ms, 40*ms, 41*ms), func(o *history.Op) { o.Again = 12 }), false, "a re-entry changed the fence to 12"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			check(t, "fences", history.Fences([]history.Op{tt.second, first}, tt.exclusive), tt.want)
		})
	}
}

// The largest fence counts, not the one that was answered last.
func TestFenceBehindASmallerOne(t *testing.T) {
	ops := []history.Op{
		took(1, 12, 0, 5*ms, 6*ms, 7*ms), took(2, 10, 0, 8*ms, 9*ms, 10*ms), took(3, 11, 40*ms, 41*ms, 42*ms, 43*ms),
	}
	check(t, "fences", history.Fences(ops, false), "fence 11 was given after fence 12")
}

// Histories for Porcupine are cut, and what happens at a cut is seen all the same.
func TestModelOverACut(t *testing.T) {
	var ops []history.Op
	for i := range 2000 {
		at := time.Duration(i) * 10 * ms
		ops = append(ops, took(i, uint64(i+1), at, at+1*ms, at+8*ms, at+9*ms))
	}
	last := ops[1999]
	check(t, "model", history.Linearizable(append(ops, took(1, 2001, last.Call, last.EndCall+2*ms, last.EndCall+3*ms, last.EndCall+4*ms)), time.Minute), "")
	check(t, "model", history.Linearizable(append(ops, took(1, 2001, last.Call, last.EndCall-1*ms, last.EndCall+3*ms, last.EndCall+4*ms)), time.Minute), "Illegal")
}

func TestModelFences(t *testing.T) {
	ops := []history.Op{took(1, 10, 0, 5*ms, 6*ms, 7*ms), took(2, 9, 10*ms, 11*ms, 12*ms, 13*ms)}
	check(t, "model", history.Linearizable(ops, time.Minute), "Illegal")
}

func TestOrder(t *testing.T) {
	first, second := took(1, 10, 0, 50*ms, 60*ms, 61*ms), took(2, 11, 20*ms, 62*ms, 70*ms, 71*ms)
	swapped := with(second, func(o *history.Op) { o.Fence = 9 })
	between := took(3, 10, 10*ms, 40*ms, 41*ms, 42*ms)
	tests := []struct {
		name string
		ops  []history.Op
		want string
	}{
		{"as they came", []history.Op{first, second}, ""},
		{"swapped", []history.Op{first, swapped}, "the second was served before the first, which had asked 20ms earlier"},
		{"swapped with another between", []history.Op{with(first, func(o *history.Op) { o.Fence = 12 }), between, swapped}, "served before"},
		{"swapped, and another between is too close to say", []history.Op{
			with(first, func(o *history.Op) { o.Fence = 12 }), with(between, func(o *history.Op) { o.Call = 3 * ms }),
			with(swapped, func(o *history.Op) { o.Call = 7 * ms }),
		}, "which had asked 7ms earlier"},
		{"at another node", []history.Op{first, with(swapped, func(o *history.Op) { o.Node = "b" })}, ""},
		{"one did not wait", []history.Op{first, with(swapped, func(o *history.Op) { o.Wait = 0 })}, ""},
		{"too close to say", []history.Op{first, with(swapped, func(o *history.Op) { o.Call = 4 * ms })}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { check(t, "order", history.Order(tt.ops, 5*ms), tt.want) })
	}
}

func TestWaits(t *testing.T) {
	refused := func(answer time.Duration) history.Op {
		return history.Op{Name: "n", Node: "a", Call: 0, Answer: answer, Wait: time.Second, Outcome: history.Refused}
	}
	stopped := []history.Fault{{Kind: history.PauseGateway, Node: "a", From: 500 * ms, To: 2500 * ms}}
	tests := []struct {
		name   string
		op     history.Op
		faults []history.Fault
		want   string
	}{
		{"in time", refused(2950 * ms), nil, ""},
		{"too late", refused(3100 * ms), nil, "an acquire took 3.1s"},
		{"its gateway was stopped", refused(4900 * ms), stopped, ""},
		{"for less", refused(5100 * ms), stopped, "an acquire took 5.1s"},
		{"another was stopped", refused(3100 * ms), []history.Fault{{Kind: history.PauseGateway, Node: "b", From: 0, To: 3000 * ms}}, "took"},
		{"the machine was", refused(3100 * ms), []history.Fault{{Kind: history.MachineStall, From: 0, To: 200 * ms}}, ""},
		{"the store was", refused(3100 * ms), []history.Fault{{Kind: "pause store", From: 0, To: 3000 * ms}}, "took"},
		{"the release", took(1, 1, 0, 1*ms, 2*ms, 2003*ms), nil, "a release took 2.001s"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			check(t, "waits", history.Waits([]history.Op{tt.op}, tt.faults, 1900*ms, 100*ms), tt.want)
		})
	}
}

func TestStalls(t *testing.T) {
	first, second := took(1, 10, 0, 5*ms, 20*ms, 30*ms), took(2, 11, 10*ms, 1000*ms, 1010*ms, 1011*ms)
	waiter := history.Op{Name: "n", Call: 1100 * ms, Answer: 2100 * ms, Wait: time.Second, Outcome: history.Refused}
	fault := history.Fault{Kind: "pause store", From: 100 * ms, To: 500 * ms}
	tests := []struct {
		name   string
		ops    []history.Op
		faults []history.Fault
		want   string
	}{
		{"one waits for a free name", []history.Op{first, second}, nil, "it could have been had from 20ms to 1s"},
		{"nobody waits", []history.Op{first, with(second, func(o *history.Op) { o.Call = 900 * ms })}, nil, ""},
		{"one who tries does not wait", []history.Op{first, with(second, func(o *history.Op) { o.Wait = 0 })}, nil, ""},
		{"a fault explains it", []history.Op{first, second}, []history.Fault{fault}, ""},
		{"for a part", []history.Op{first, second}, []history.Fault{with2(fault, 150*ms)}, "it could have been had"},
		{"refused at the end", []history.Op{first, waiter}, nil, "it could have been had from 1.1s to 2.1s"},
		{"one after the other gives up", []history.Op{
			first, with(waiter, func(o *history.Op) { o.Answer = 1500 * ms }), with(waiter, func(o *history.Op) { o.Call = 1400 * ms }),
		}, nil, "it could have been had from 1.1s to 2.1s"},
		{"with time between them", []history.Op{
			first, with(waiter, func(o *history.Op) { o.Answer = 1500 * ms }), with(waiter, func(o *history.Op) { o.Call = 1700 * ms }),
		}, nil, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			check(t, "stalls", history.Stalls(tt.ops, tt.faults, 500*ms, 100*ms, all), tt.want)
		})
	}
}

// What was given back just before a crash may be held again, until its lease is over.
func TestTakenBack(t *testing.T) {
	released := took(1, 10, 0, 5*ms, 95*ms, 96*ms)
	released.Deadline = 3000 * ms
	waits := history.Op{Name: "n", Call: 1100 * ms, Answer: 2900 * ms, Wait: time.Second, Outcome: history.Refused}
	crash := history.Fault{Kind: "restart store", From: 100 * ms, To: 500 * ms}
	const stalls = "it could have been had from 1.1s to 2.9s"
	tests := []struct {
		name  string
		ops   []history.Op
		fault history.Fault
		want  string
	}{
		{"just before", []history.Op{released, waits}, crash, ""},
		{"long before", []history.Op{with(released, func(o *history.Op) { o.EndCall, o.EndAnswer = 80*ms, 81*ms }), waits}, crash, stalls},
		{"after it", []history.Op{with(released, func(o *history.Op) { o.EndCall, o.EndAnswer = 501*ms, 502*ms }), waits}, crash, stalls},
		{"no crash", []history.Op{released, waits}, history.Fault{Kind: "pause store", From: crash.From, To: crash.To}, stalls},
		{"the lease is over", []history.Op{with(released, func(o *history.Op) { o.Deadline = 1100 * ms }), waits}, crash, stalls},
		{"somebody had it since", []history.Op{released, took(2, 11, 600*ms, 601*ms, 602*ms, 603*ms), waits}, crash, stalls},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ops := history.TakenBack(tt.ops, []history.Fault{tt.fault}, 10*ms, func(f history.Fault) bool { return f.Kind == "restart store" })
			if len(ops) != len(tt.ops) {
				t.Errorf("%d operations of %d", len(ops), len(tt.ops))
			}
			check(t, "stalls", history.Stalls(ops, nil, 500*ms, 100*ms, all), tt.want)
		})
	}
}

func with2(f history.Fault, to time.Duration) history.Fault {
	f.To = to
	return f
}

// A model that gets no time must not pass.
func TestNoVerdictIsAViolation(t *testing.T) {
	var ops []history.Op
	for i := range 60 { // all at once, and none is heard of again: there are very many orders
		ops = append(ops, with(kept(i, uint64(100-i), 0, time.Second, 0), func(o *history.Op) { o.Name = "n" }))
	}
	ops = append(ops, took(99, 1, 2*time.Second, 3*time.Second, 4*time.Second, 5*time.Second))
	check(t, "model", history.Linearizable(ops, time.Nanosecond), "are no history of one lock")
}

func TestTimeline(t *testing.T) {
	ops := []history.Op{took(1, 10, 0, 5*ms, 20*ms, 30*ms), took(2, 11, 1*ms, 19*ms, 40*ms, 41*ms), good[8]}
	vs := history.Overlaps(ops)
	if len(vs) != 1 {
		t.Fatalf("found %d overlaps, want 1", len(vs))
	}
	var b strings.Builder
	err := history.Timeline(&b, vs[0], ops, []history.Fault{{Kind: "pause <store>", From: 10 * ms, To: 30 * ms}})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"caller 1", "caller 2", "pause &lt;store&gt;", "#c22", "fence 11"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the page has no %q:\n%s", want, b.String())
		}
	}
}
