package history

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

type span struct{ from, to time.Duration }

// union joins what touches, in order.
func union(spans []span) (out []span) {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	for _, s := range spans {
		if n := len(out); n > 0 && s.from <= out[n-1].to {
			out[n-1].to = max(out[n-1].to, s.to)
		} else {
			out = append(out, s)
		}
	}
	return out
}

// Stalls finds the times longer than limit for which nobody held a name though
// somebody waited for it. Such a time is not counted while a fault lasts that
// explains it, nor for recovery after it.
func Stalls(ops []Op, faults []Fault, limit, recovery time.Duration, explains func(Fault) bool) (vs []Violation) {
	recovering := slices.Clone(faults)
	for i := range recovering {
		recovering[i].To += recovery
	}
	for name, part := range byName(ops) {
		for _, free := range idle(part, limit) {
			if o, s := longest(part, free); s.to-s.from > limit {
				blocked := covered(recovering, s.from, s.to, explains)
				if idle := s.to - s.from - blocked; idle > limit {
					vs = append(vs, Violation{
						Rule: "stall", Name: name, Ops: []Op{o},
						Text: fmt.Sprintf("nobody held it from %v to %v while this caller waited; faults explain %v of %v",
							s.from, s.to, blocked, s.to-s.from),
					})
				}
			}
		}
	}
	return vs
}

// idle are the times longer than limit in which nobody held the name.
func idle(part []Op, limit time.Duration) (free []span) {
	var held, asked []span
	for _, o := range part {
		asked = append(asked, span{o.Call, o.Answer})
		if from, to := o.Held(); o.Outcome == Granted {
			held = append(held, span{from, to})
		}
	}
	var last time.Duration
	for _, s := range append(union(held), span{from: end(asked), to: end(asked)}) {
		if s.from-last > limit {
			free = append(free, span{last, s.from})
		}
		last = s.to
	}
	return free
}

func end(spans []span) (to time.Duration) {
	for _, s := range spans {
		to = max(to, s.to)
	}
	return to
}

// longest is who of part waited longest within free, and when.
func longest(part []Op, free span) (o Op, s span) {
	for _, x := range part {
		both := span{max(x.Call, free.from), min(x.Answer, free.to)}
		if x.Wait > 0 && both.to-both.from > s.to-s.from {
			o, s = x, both
		}
	}
	return o, s
}
