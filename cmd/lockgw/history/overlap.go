package history

import (
	"fmt"
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
			if v, found := crowd(in, o); found {
				v.Rule, v.Name = "overlap", name
				vs = append(vs, v)
			}
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

// crowd: o may not join those who are in.
func crowd(in []Op, o Op) (Violation, bool) {
	for _, x := range in {
		if !beside(x.Mode, o.Mode) {
			return Violation{
				Ops:  []Op{x, o},
				Text: fmt.Sprintf("two callers hold it for %v, and not both share it", min(x.left(), o.left())-o.Answer),
			}, true
		}
	}
	if n := o.Mode.Limit(); n > 0 && len(in) >= n {
		all := append(slices.Clone(in), o)
		return Violation{Ops: all, Text: fmt.Sprintf("%d callers hold a semaphore of %d", len(all), n)}, true
	}
	return Violation{}, false
}
