package history

import "time"

// Waits finds requests that were not answered in time: an acquire within its wait
// and the timeout of one operation, a release within that timeout. The time for
// which the node was stopped is added, and slack, for a busy machine.
func Waits(ops []Op, faults []Fault, timeout, slack time.Duration) (vs []Violation) {
	late := func(o Op, what string, from, to, allowed time.Duration) {
		stopped := covered(faults, from, to, func(f Fault) bool { return f.stops(o.Node) })
		if took := to - from; took > allowed+timeout+slack+stopped {
			violates(&vs, "wait", o.Name, []Op{o}, "%s took %v with a wait of %v, while its gateway was stopped for %v", what, took, allowed, stopped)
		}
	}
	for _, o := range ops {
		late(o, "an acquire", o.Call, o.Answer, o.Wait)
		if o.End == Released || o.End == Lost && o.EndCall != 0 {
			late(o, "a release", o.EndCall, o.EndAnswer, 0)
		}
	}
	return vs
}

// covered is how much of the time from..to lies within faults that count.
func covered(faults []Fault, from, to time.Duration, counts func(Fault) bool) (sum time.Duration) {
	var spans []span
	for _, f := range faults {
		if counts(f) && f.From < to && f.To > from {
			spans = append(spans, span{max(f.From, from), min(f.To, to)})
		}
	}
	for _, s := range union(spans) {
		sum += s.to - s.from
	}
	return sum
}
