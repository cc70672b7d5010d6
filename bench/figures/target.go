package figures

import "fmt"

// Target is a ratio, or a figure with a unit, that lockgw should reach.
type Target struct {
	Name  string
	unit  string // "": a ratio
	Bound float64
	Least bool // bound is the lowest, not the highest
	Ratio func(t *Table) (ratio float64, ok bool)
}

// Judge says whether the target was reached.
func (g Target) Judge(t *Table) string {
	ratio, ok := g.Ratio(t)
	if !ok {
		return "not measured: " + g.Name
	}
	word, bound := "reached", "at most"
	if g.Least {
		bound = "at least"
	}
	if g.Least && ratio < g.Bound || !g.Least && ratio > g.Bound {
		word = "MISSED"
	}
	if g.unit != "" {
		return fmt.Sprintf("%-7s  %.2f %s (%s %g)  %s", word, ratio, g.unit, bound, g.Bound, g.Name)
	}
	return fmt.Sprintf("%-7s  x %.2f (%s %.2f)  %s", word, ratio, bound, g.Bound, g.Name)
}

// Compare is Over of the rows with these names; false: one was not measured.
func Compare(t *Table, group string, callers int, f func([]Sample) float64, names ...string) (float64, bool) {
	var rows []*Row
	for _, name := range names {
		w := t.Find(group, name, callers)
		if w == nil {
			return 0, false
		}
		rows = append(rows, w)
	}
	return Over(f, rows...), true
}

// Figure is a target about one row.
func Figure(group, row, unit string, bound float64, name string) Target {
	return Target{Name: name, unit: unit, Bound: bound, Ratio: func(t *Table) (float64, bool) {
		w := t.Find(group, row, 0)
		if w == nil {
			return 0, false
		}
		return w.figure, true
	}}
}
