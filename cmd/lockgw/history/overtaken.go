package history

import (
	"math"
	"slices"
	"time"
)

// Overtaken finds callers that wanted a name alone and were passed by those who
// share it and asked later.
//
// The nodes stand in one queue, and the callers of each in its own, so nobody passes. But
// when a node is served, all come in who wait there by then, however late they came, with
// the one for whom it stands there. And when a node has served the first of its callers it
// may have to go to the end. So a caller of another node may pass as often as there were
// callers of the node before the one who is passed.
//
// Only the order of the calls is known, hence slack. And a node that does not answer
// is passed: who asked before the end of a fault that concerns it, or within
// recovery after it, does not count, nor who asked while the node told nobody of a
// grant for longer than slack.
func Overtaken(ops []Op, faults []Fault, slack, recovery time.Duration) (vs []Violation) {
	naps := naps(ops, slack)
	for name, part := range byName(ops) {
		var sharers []Op
		for _, o := range grants(part) {
			if o.Mode == Shared {
				sharers = append(sharers, o)
			}
		}
		for _, o := range part {
			if o.Mode != Exclusive || o.Wait == 0 {
				continue
			}
			passed := passing(o, sharers, append(troubled(o.Node, faults, recovery), naps[o.Node]...), slack)
			if allowed := before(o, part, slack); tooOften(passed, o.Node, allowed) {
				violates(&vs, "overtaken", name, append([]Op{o}, passed[:min(len(passed), 8)]...),
					"the first was passed by %d who asked later and share it; a caller of another node may pass %d times", len(passed), allowed)
			}
		}
	}
	return vs
}

// passing are those of sharers that asked after o and had the name before: before o was told of
// it, or its wait was over, of which it may have been told later.
func passing(o Op, sharers []Op, deaf []span, slack time.Duration) (out []Op) {
	for _, s := range sharers {
		passed := s.Answer < min(o.Answer, o.Call+o.Wait-slack)
		if o.Outcome == Granted {
			passed = s.Fence < o.Fence
		}
		if passed && s.Call > o.Call+slack && s.Call > ready(o, s.Answer, deaf)+slack && !comesWith(s, o, sharers, slack) {
			out = append(out, s)
		}
	}
	return out
}

// comesWith: another caller of the node of s asked before o, and had not been let in yet when s
// asked.
func comesWith(s, o Op, sharers []Op, slack time.Duration) bool {
	return slices.ContainsFunc(sharers, func(first Op) bool {
		return first.Node == s.Node && first.Call < o.Call+slack && first.Answer > s.Call
	})
}

// ready is since when o, who may still wait at the time at, has surely stood in the
// queue of a store that heard of its node.
func ready(o Op, at time.Duration, deaf []span) time.Duration {
	since := o.Call
	for _, d := range deaf {
		if d.from < at && d.to > o.Call {
			since = max(since, d.to)
		}
	}
	return since
}

// troubled are the faults that concern the node, each with the recovery after it.
func troubled(node string, faults []Fault, recovery time.Duration) (out []span) {
	for _, f := range faults {
		if f.Node == node || f.Node == "" {
			out = append(out, span{f.From, f.To + recovery})
		}
	}
	return out
}

// naps are, for each node, the times longer than limit in which it told nobody of a
// grant that came from the store. One to a caller who wants the name alone may be a
// turn, of which the store knows nothing.
func naps(ops []Op, limit time.Duration) map[string][]span {
	told := map[string][]span{}
	for _, o := range ops {
		answers := told[o.Node]
		if o.Outcome == Granted && o.Mode != Exclusive {
			answers = append(answers, span{o.Answer, o.Answer + limit})
		}
		told[o.Node] = answers
	}
	out := map[string][]span{}
	for node, spans := range told {
		var last time.Duration
		for _, s := range union(spans) {
			out[node] = append(out[node], span{last, s.from})
			last = s.to - limit
		}
		out[node] = append(out[node], span{last, math.MaxInt64})
	}
	return out
}

// before is how many callers of o's node may have been before o in its queue.
func before(o Op, part []Op, slack time.Duration) (n int) {
	for _, x := range part {
		if x.Node == o.Node && x.Caller != o.Caller && x.Call < o.Call+slack && max(x.Answer, x.left()) > o.Call {
			n++
		}
	}
	return n
}

// tooOften: somebody of the node is among those who passed, or one of another node
// is more often than allowed.
func tooOften(passed []Op, node string, allowed int) bool {
	times := map[int]int{}
	for _, o := range passed {
		if times[o.Caller]++; o.Node == node || times[o.Caller] > allowed {
			return true
		}
	}
	return false
}
