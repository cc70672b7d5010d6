package history_test

import (
	"slices"
	"testing"
	"time"

	"github.com/lockgw/lockgw/cmd/lockgw/history"
)

// in is o in mode m.
func in(m history.Mode, o history.Op) history.Op {
	o.Mode = m
	return o
}

func shared(o history.Op) history.Op { return in(history.Shared, o) }

// each puts all of ops in mode m.
func each(m history.Mode, ops ...history.Op) []history.Op {
	for i := range ops {
		ops[i].Mode = m
	}
	return ops
}

func at(node string, o history.Op) history.Op {
	o.Node = node
	return o
}

// goodShared is a history without fault of a lock that most share.
var goodShared = []history.Op{
	shared(took(1, 10, 0, 5*ms, 40*ms, 41*ms)),
	shared(took(2, 11, 1*ms, 8*ms, 60*ms, 61*ms)), // beside it
	shared(took(3, 12, 2*ms, 7*ms, 20*ms, 21*ms)), // granted after it and answered before
	took(4, 13, 10*ms, 62*ms, 70*ms, 71*ms),       // alone, after all of them
	shared(kept(5, 14, 22*ms, 72*ms, 300*ms)),     // waited behind it, and died
	shared(took(6, 15, 80*ms, 81*ms, 310*ms, 311*ms)),
	shared(took(1, 16, 301*ms, 302*ms, 303*ms, 304*ms)), // beside one and after the end of another
	took(4, 17, 305*ms, 312*ms, 320*ms, 321*ms),
	{Name: "n", Caller: 7, Node: "b", Mode: history.Shared, Call: 250 * ms, Answer: 251 * ms, Outcome: history.Refused},
}

// goodSemaphore is one of a semaphore of 2.
var goodSemaphore = each(2,
	took(1, 10, 0, 5*ms, 40*ms, 41*ms),
	took(2, 11, 1*ms, 6*ms, 60*ms, 61*ms),
	took(3, 12, 2*ms, 41*ms, 50*ms, 51*ms), // takes the place of the first
	kept(4, 13, 3*ms, 52*ms, 400*ms),       // of the third, and dies
	took(1, 14, 50*ms, 62*ms, 90*ms, 91*ms),
	took(2, 15, 70*ms, 92*ms, 399*ms, 401*ms),
	took(3, 16, 80*ms, 400*ms, 410*ms, 411*ms),
)

func TestGoodModes(t *testing.T) {
	for name, ops := range map[string][]history.Op{"shared": goodShared, "semaphore": goodSemaphore} {
		t.Run(name, func(t *testing.T) {
			check(t, "overlaps", history.Overlaps(ops), "")
			check(t, "fences", history.Fences(ops, true), "")
			check(t, "model", history.Linearizable(ops, time.Minute), "")
			check(t, "order", history.Order(ops, 25*ms), "")
			check(t, "overtaken", history.Overtaken(ops, nil, 20*ms, 0), "")
			check(t, "stalls", history.Stalls(ops, nil, 10*ms, 0, all), "")
		})
	}
}

func TestCrowds(t *testing.T) {
	first, second := took(1, 10, 0, 5*ms, 20*ms, 30*ms), took(2, 11, 1*ms, 8*ms, 40*ms, 41*ms)
	third := took(3, 12, 2*ms, 19*ms, 50*ms, 51*ms)
	tests := []struct {
		name string
		ops  []history.Op
		want string
	}{
		{"one who shares beside one who does not", []history.Op{first, shared(second)}, "two callers hold it for 12ms"},
		{"and the reverse", []history.Op{shared(first), second}, "two callers hold it for 12ms"},
		{"behind one who shares, too", []history.Op{shared(kept(1, 10, 0, 5*ms, 900*ms)), shared(took(2, 11, 0, 6*ms, 7*ms, 8*ms)), third}, "caller 1"},
		{"more than there are permits", each(2, first, second, third), "3 callers hold a semaphore of 2"},
		{"before the deadline of one who died", each(2, kept(1, 10, 0, 5*ms, 500*ms), kept(2, 11, 0, 6*ms, 500*ms), took(3, 12, 7*ms, 499*ms, 600*ms, 601*ms)), "3 callers"},
		{"semaphores of two sizes", []history.Op{in(2, first), in(3, second)}, "two callers hold it"},
		{"a semaphore and a lock", []history.Op{in(2, first), shared(second)}, "two callers hold it"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			slices.Reverse(tt.ops)
			check(t, "overlaps", history.Overlaps(tt.ops), tt.want)
			check(t, "model", history.Linearizable(tt.ops, time.Minute), "no history of one lock: Illegal")
		})
	}
}

// A permit that ended does not count, whoever took the other ones.
func TestModelOfManyPermits(t *testing.T) {
	var ops []history.Op
	for i := range 3000 { // three at a time; every tenth is not heard of again
		from := time.Duration(i) * 10 * ms
		o := took(i, uint64(i+1), from-500*ms, from, from+29*ms, from+30*ms)
		if i%10 == 0 {
			o = kept(i, o.Fence, o.Call, o.Answer, from+29*ms)
		}
		ops = append(ops, in(3, o))
	}
	check(t, "model", history.Linearizable(ops, time.Minute), "")
	ops[2501].EndCall += 10 * ms
	check(t, "model", history.Linearizable(ops, 10*time.Second), "are no history of one lock")
}

func TestFencesOfModes(t *testing.T) {
	first, second := took(1, 10, 0, 5*ms, 20*ms, 30*ms), took(2, 9, 1*ms, 35*ms, 40*ms, 41*ms)
	tests := []struct {
		name string
		ops  []history.Op
		want string
	}{
		{"of those who share the order is not known", each(history.Shared, first, second), ""},
		{"of permits neither", each(2, first, second), ""},
		{"not even if one was asked for later", each(history.Shared, first, took(2, 9, 6*ms, 35*ms, 40*ms, 41*ms)), ""},
		{"alone after shared", []history.Op{shared(first), second}, "fence 9 was given after fence 10"},
		{"shared after alone", []history.Op{first, shared(second)}, "fence 9 was given after fence 10"},
		{"alone after shared, with a greater one in between", []history.Op{
			shared(first), took(3, 8, 2*ms, 33*ms, 34*ms, 34*ms), second,
		}, "fence 9 was given after fence 10"},
		{"twice at the same time", each(2, first, took(2, 10, 1*ms, 6*ms, 40*ms, 41*ms)), "fence 10 was given twice"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { check(t, "fences", history.Fences(tt.ops, true), tt.want) })
	}
}

// brisk are callers that get what they ask for soon, one right after the other.
func brisk() (ops []history.Op) {
	for i := range 100 {
		from := time.Duration(i) * 10 * ms
		ops = append(ops, took(1, uint64(i+1), from, from+11*ms, from+12*ms, from+13*ms))
	}
	return ops
}

func TestStallsOfModes(t *testing.T) {
	long, other := took(1, 10, 0, 5*ms, 990*ms, 991*ms), took(2, 11, 0, 5*ms, 990*ms, 991*ms)
	waiter := took(3, 12, 10*ms, 1000*ms, 1010*ms, 1011*ms)
	const stalled = "it could have been had from 10ms to 1s"
	tests := []struct {
		name string
		ops  []history.Op
		want string
	}{
		{"one may share, and is not let in", each(history.Shared, long, waiter), stalled},
		{"there is a permit, and nobody has it", each(2, long, waiter), stalled},
		{"there is none", each(2, long, other, waiter), ""},
		{"for a part of the time", each(2, long, took(2, 11, 0, 5*ms, 300*ms, 301*ms), waiter), "from 300ms to 1s"},
		{"one of two permits is gone, and everybody is served in turn", each(2,
			long, took(3, 12, 10*ms, 991*ms, 1990*ms, 1991*ms), took(4, 13, 20*ms, 1991*ms, 2000*ms, 2001*ms),
		), "it could have been had from 10ms to 1.991s"},
		{"there is much traffic, and nobody waits", each(2, brisk()...), ""},
		{"one cannot share", []history.Op{long, shared(waiter)}, ""},
		{"one wants it alone", []history.Op{shared(long), waiter}, ""},
		{"another who wants it alone comes first", []history.Op{shared(long), shared(waiter), took(4, 11, 6*ms, 992*ms, 993*ms, 994*ms)}, ""},
		{"he gives up, and one is not let in then", []history.Op{
			shared(long), shared(waiter), {Name: "n", Node: "b", Call: 6 * ms, Answer: 300 * ms, Wait: 294 * ms, Outcome: history.Refused},
		}, "from 300ms to 1s"},
		{"nobody has it", []history.Op{took(1, 10, 0, 5*ms, 9*ms, 9*ms), shared(waiter), took(4, 13, 6*ms, 2000*ms, 2001*ms, 2002*ms)}, "from 10ms to 1s"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { check(t, "stalls", history.Stalls(tt.ops, nil, 500*ms, 0, all), tt.want) })
	}
}

// lively are signs that the store hears of nodes a and b.
func lively() (ops []history.Op) {
	for i := range 100 {
		from := time.Duration(i) * 10 * ms
		o := in(2, took(100, uint64(i+1), from, from+1*ms, from+2*ms, from+3*ms))
		o.Name = "other"
		ops = append(ops, at("a", o), at("b", o))
	}
	return ops
}

func TestOvertaken(t *testing.T) {
	writer := took(1, 50, 100*ms, 400*ms, 410*ms, 411*ms)
	passes := func(caller int, fence uint64, call time.Duration) history.Op {
		return at("b", shared(took(caller, fence, call, call+1*ms, call+9*ms, call+9*ms)))
	}
	once, twice := passes(2, 40, 200*ms), passes(2, 41, 220*ms)
	refused := history.Op{Name: "n", Caller: 1, Node: "a", Call: 100 * ms, Answer: 300 * ms, Wait: 200 * ms, Outcome: history.Refused}
	fault := func(node string, to time.Duration) []history.Fault {
		return []history.Fault{{Kind: "black hole", Node: node, From: 90 * ms, To: to}}
	}
	tests := []struct {
		name   string
		ops    []history.Op
		faults []history.Fault
		want   string
	}{
		{"by one who asked later", []history.Op{writer, once}, nil, "passed by 1 who asked later and share it; a caller of another node may pass 0 times"},
		{"by one who asked before", []history.Op{writer, passes(2, 40, 90*ms)}, nil, ""},
		{"by one who asked too close to it to say", []history.Op{writer, passes(2, 40, 119*ms)}, nil, ""},
		{"not passed", []history.Op{writer, passes(2, 51, 200*ms)}, nil, ""},
		{"it does not wait", []history.Op{with(writer, func(o *history.Op) { o.Wait = 0 }), once}, nil, ""},
		{"by who came in with one who asked before", []history.Op{writer, at("b", shared(took(3, 39, 90*ms, 210*ms, 260*ms, 261*ms))), once}, nil, ""},
		{"by who came when that one was in", []history.Op{writer, at("b", shared(took(3, 39, 90*ms, 190*ms, 260*ms, 261*ms))), once}, nil, "passed by 1"},
		{"by who came in with one of another node", []history.Op{writer, at("c", shared(took(3, 39, 90*ms, 210*ms, 260*ms, 261*ms))), once}, nil, "passed by 1"},
		{"by who came in with one who asked later", []history.Op{writer, at("b", shared(took(3, 39, 130*ms, 210*ms, 260*ms, 261*ms))), once}, nil, "passed by 2"},
		{"one who shares", []history.Op{shared(writer), once}, nil, ""},
		{"it gives up", []history.Op{refused, once}, nil, "passed by 1"},
		{"it has given up before", []history.Op{refused, passes(2, 40, 300*ms)}, nil, ""},
		{"its wait was over, as it was told later", []history.Op{with(refused, func(o *history.Op) { o.Answer = 320 * ms }), passes(2, 40, 300*ms)}, nil, ""},
		{"its node may have given way", []history.Op{writer, took(3, 30, 90*ms, 150*ms, 160*ms, 161*ms), once}, nil, ""},
		{"but not so often", []history.Op{writer, took(3, 30, 90*ms, 150*ms, 160*ms, 161*ms), once, twice}, nil, "passed by 2 who asked later and share it; a caller of another node may pass 1 times"},
		{"the one before was served by then", []history.Op{writer, took(3, 30, 50*ms, 60*ms, 99*ms, 99*ms), once}, nil, "passed by 1"},
		{"the one before is of another node", []history.Op{writer, at("b", took(3, 30, 90*ms, 150*ms, 160*ms, 161*ms)), once}, nil, "passed by 1"},
		{"by one of its own node", []history.Op{writer, took(3, 30, 90*ms, 150*ms, 160*ms, 161*ms), at("a", once)}, nil, "passed by 1"},
		{"its node was in trouble", []history.Op{writer, once}, fault("a", 150*ms), ""},
		{"all were", []history.Op{writer, once}, fault("", 150*ms), ""},
		{"another was", []history.Op{writer, once}, fault("b", 150*ms), "passed by 1"},
		{"long before", []history.Op{writer, passes(2, 40, 350*ms)}, fault("a", 150*ms), "passed by 1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			check(t, "overtaken", history.Overtaken(append(lively(), tt.ops...), tt.faults, 20*ms, 100*ms), tt.want)
		})
	}
	t.Run("its node heard nothing", func(t *testing.T) {
		quiet := slices.DeleteFunc(lively(), func(o history.Op) bool { return o.Node == "a" && o.Call > 100*ms && o.Call < 190*ms })
		check(t, "overtaken", history.Overtaken(append(quiet, writer, once), nil, 20*ms, 0), "")
		check(t, "overtaken", history.Overtaken(append(quiet, writer, once, twice), nil, 20*ms, 0), "passed by 1")
	})
}
