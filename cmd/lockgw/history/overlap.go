package history

import (
	"slices"
	"time"
)

// Overlaps finds the moments at which more callers could rely on a name than may:
// two of them where one wants it alone, or more than a semaphore has permits.
func Overlaps(ops []Op) (vs []Violation) {
	for name, part := range byName(ops) {
		var in []Op // who hold it when the next one comes
		for _, o := range grants(part) {
			from, to := o.Held()
			if from == to {
				continue
			}
			in = slices.DeleteFunc(in, func(x Op) bool { return x.left() <= from })
			crowd(&vs, name, in, o)
			in = append(in, o)
		}
	}
	return vs
}

// left is when o was no longer held.
func (o Op) left() time.Duration {
	_, to := o.Held()
	return to
}

// crowd adds a violation if o may not join those who are in.
func crowd(vs *[]Violation, name string, in []Op, o Op) {
	for _, x := range in {
		if !beside(x.Mode, o.Mode) {
			violates(vs, "overlap", name, []Op{x, o}, "two callers hold it for %v, and not both share it", min(x.left(), o.left())-o.Answer)
			return
		}
	}
	if n := o.Mode.Limit(); n > 0 && len(in) >= n {
		all := append(slices.Clone(in), o)
		violates(vs, "overlap", name, all, "%d callers hold a semaphore of %d", len(all), n)
	}
}
