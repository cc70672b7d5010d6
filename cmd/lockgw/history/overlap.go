package history

import "fmt"

// Overlaps finds the moments at which two callers could rely on the same name.
func Overlaps(ops []Op) (vs []Violation) {
	for name, part := range byName(ops) {
		var last Op // of those so far, the one that is held longest
		for _, o := range grants(part) {
			from, to := o.Held()
			_, until := last.Held()
			if last.Outcome == Granted && from < until && from < to {
				vs = append(vs, Violation{
					Rule: "overlap", Name: name, Ops: []Op{last, o},
					Text: fmt.Sprintf("two callers hold it for %v", min(to, until)-from),
				})
			}
			if to > until {
				last = o
			}
		}
	}
	return vs
}
