package history

import (
	"cmp"
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

// atLeast is when so many of spans are under way.
func atLeast(n int, spans []span) (out []span) {
	type edge struct {
		at   time.Duration
		step int
	}
	var edges []edge
	for _, s := range spans {
		if s.from < s.to {
			edges = append(edges, edge{s.from, 1}, edge{s.to, -1})
		}
	}
	slices.SortFunc(edges, func(a, b edge) int { // who comes as another goes takes that one's place
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(b.step, a.step))
	})
	under := 0
	for _, e := range edges {
		under += e.step
		switch {
		case e.step > 0 && under == n:
			out = append(out, span{from: e.at})
		case e.step < 0 && under == n-1:
			out[len(out)-1].to = e.at
		}
	}
	return out
}

// Stalls finds the times longer than limit for which callers waited for a name that
// could have been had. Such a time is not counted while a fault lasts that explains
// it, nor for recovery after it.
//
// A name can be had if nobody holds it; and, by one who lets others in, if those who
// hold it leave room and nobody waits for it in another way, whom one may not pass.
func Stalls(ops []Op, faults []Fault, limit, recovery time.Duration, explains func(Fault) bool) (vs []Violation) {
	recovering := slices.Clone(faults)
	for i := range recovering {
		recovering[i].To += recovery
	}
	for name, part := range byName(ops) {
		for _, m := range modes(part) {
			for _, s := range waits(part, m, idle(part, m, limit), limit/2) {
				explained := covered(recovering, s.from, s.to, explains)
				if s.to-s.from-explained > limit {
					violates(&vs, "stall", name, []Op{longest(part, m, s)},
						"it could have been had from %v to %v while this caller waited, perhaps with others; faults explain %v of %v",
						s.from, s.to, explained, s.to-s.from)
				}
			}
		}
	}
	return vs
}

// TakenBack is ops as they may be after crashes of a store that has answered for what was
// given back before it was on the disk: who gave a name back at most late before one may have
// it until its lease is over, or somebody is granted the name.
func TakenBack(ops []Op, faults []Fault, late time.Duration, crash func(Fault) bool) (all []Op) {
	for _, part := range byName(ops) {
		for i, o := range part {
			for _, f := range faults {
				if !crash(f) || o.EndAnswer == 0 || o.EndCall > f.To || o.EndAnswer+late < f.From {
					continue
				}
				if next := slices.IndexFunc(part[i+1:], func(n Op) bool { return n.Outcome == Granted && n.Answer > f.From }); next >= 0 {
					o.Deadline = min(o.Deadline, part[i+1+next].Answer)
				}
				o.End, o.EndCall, o.EndAnswer, o.Proven = Standing, 0, 0, 0
			}
			all = append(all, o)
		}
	}
	return all
}

func modes(part []Op) (out []Mode) {
	for _, o := range part {
		if !slices.Contains(out, o.Mode) {
			out = append(out, o.Mode)
		}
	}
	return out
}

// idle are the times longer than limit in which the name could be had in mode m.
func idle(part []Op, m Mode, limit time.Duration) (free []span) {
	var last, end time.Duration
	for _, o := range part {
		end = max(end, o.Answer)
	}
	for _, s := range append(blocked(part, m), span{from: end, to: end}) {
		if s.from-last > limit {
			free = append(free, span{last, s.from})
		}
		last = s.to
	}
	return free
}

// blocked is when nobody could have the name in mode m.
func blocked(part []Op, m Mode) []span {
	var alike, apart, others []span
	for _, o := range part {
		from, to := o.Held()
		switch {
		case o.Outcome != Granted:
		case beside(o.Mode, m):
			alike = append(alike, span{from, to})
		default:
			apart = append(apart, span{from, to})
		}
		if o.Wait > 0 && o.Mode != m {
			others = append(others, span{o.Call, o.Answer})
		}
	}
	out := atLeast(2, append(union(slices.Concat(alike, apart)), union(others)...))
	if n := m.Limit(); n > 0 {
		out = append(out, atLeast(n, alike)...)
	}
	return union(append(out, apart...))
}

// waits is when somebody waited in mode m while the name was free. Nobody waits who
// is served within grace: where a name is free for several, and holds are short, those who are
// served one after the other are never as many as there is room for.
func waits(part []Op, m Mode, free []span, grace time.Duration) []span {
	var out []span
	for _, o := range part {
		for _, f := range free {
			if s := o.within(f); o.Wait > 0 && o.Mode == m && s.to-s.from > grace {
				out = append(out, s)
			}
		}
	}
	return union(out)
}

// within is the part of o's wait that lies in s.
func (o Op) within(s span) span { return span{max(o.Call, s.from), min(o.Answer, s.to)} }

// longest is who waited longest in mode m within s.
func longest(part []Op, m Mode, s span) (longest Op) {
	var most time.Duration
	for _, o := range part {
		if w := o.within(s); o.Wait > 0 && o.Mode == m && w.to-w.from > most {
			longest, most = o, w.to-w.from
		}
	}
	return longest
}
