package history

import (
	"cmp"
	"slices"
	"time"
)

// Order finds callers of one node that were served before others of that node who
// had asked more than slack earlier. Only the order of the calls is known, not
// that of their arrival, hence the slack. A try that does not wait is in no queue.
func Order(ops []Op, slack time.Duration) (vs []Violation) {
	type line struct{ name, node string }
	lines := map[line][]Op{}
	for _, o := range grants(ops) {
		if o.Wait > 0 {
			lines[line{o.Name, o.Node}] = append(lines[line{o.Name, o.Node}], o)
		}
	}
	for l, part := range lines {
		slices.SortFunc(part, func(a, b Op) int { return cmp.Compare(a.Fence, b.Fence) })
		for i := len(part) - 2; i >= 0; i-- {
			first := part[i+1] // of those served later, the one that asked first
			if first.Call+slack < part[i].Call {
				violates(&vs, "order", l.name, []Op{first, part[i]}, "the second was served before the first, which had asked %v earlier", part[i].Call-first.Call)
			}
			if first.Call < part[i].Call {
				part[i] = first
			}
		}
	}
	return vs
}
