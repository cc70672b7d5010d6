package history

import (
	"cmp"
	"slices"
	"time"
)

// Fences finds grants that were not given a larger fence than every earlier grant
// of the name, fences given twice, and re-entries that changed the fence.
//
// A grant is earlier than another if it was answered before the other was asked
// for. Of two that may stand at the same time that is not known: each gateway gives fences
// of a block of its own. With exclusive, which holds while the store forgets nothing, it is also
// earlier if the two may not stand at the same time, it was answered first and the
// other was valid when it was answered: the other was granted by then, so it cannot
// have come before.
func Fences(ops []Op, exclusive bool) (vs []Violation) {
	for name, part := range byName(ops) {
		part = grants(part)
		vs = append(vs, repeated(name, part)...)
		vs = append(vs, regressed(name, part, func(o Op) time.Duration { return o.Call }, beside)...)
		if exclusive {
			valid := slices.DeleteFunc(slices.Clone(part), func(o Op) bool { return o.Answer >= o.Deadline })
			vs = append(vs, regressed(name, valid, func(o Op) time.Duration { return o.Answer }, beside)...)
		}
	}
	return vs
}

func repeated(name string, part []Op) (vs []Violation) {
	seen := map[uint64]Op{}
	for _, o := range part {
		first, twice := seen[o.Fence]
		switch {
		case o.Fence == 0:
			violates(&vs, "fence", name, []Op{o}, "a grant has no fence")
		case twice:
			violates(&vs, "fence", name, []Op{first, o}, "fence %d was given twice", o.Fence)
		case o.Again != 0 && o.Again != o.Fence:
			violates(&vs, "fence", name, []Op{o}, "a re-entry changed the fence to %d", o.Again)
		}
		seen[o.Fence] = o
	}
	return vs
}

// regressed: part is in the order of answers; begun is when a grant came at the
// earliest, as far as is to be relied on. Of grants in two modes for which open is
// true the order is not known.
func regressed(name string, part []Op, begun func(Op) time.Duration, open func(a, b Mode) bool) (vs []Violation) {
	later := slices.Clone(part)
	slices.SortFunc(later, func(a, b Op) int { return cmp.Compare(begun(a), begun(b)) })
	tops := map[Mode]Op{} // the largest fence answered before, in each mode
	i := 0
	for _, o := range later {
		for ; i < len(part) && part[i].Answer < begun(o); i++ {
			if p := part[i]; p.Fence > tops[p.Mode].Fence {
				tops[p.Mode] = p
			}
		}
		for _, top := range tops {
			if o.Fence < top.Fence && !open(top.Mode, o.Mode) {
				violates(&vs, "fence", name, []Op{top, o}, "fence %d was given after fence %d", o.Fence, top.Fence)
			}
		}
	}
	return vs
}
