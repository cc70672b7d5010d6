package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"
)

// result of one round.
type result struct {
	name  string
	stock int // things on the shelf at first
	left  int // what the shelf says at the end
	sales []sale
	crowd int // most callers in the shop at once
	took  time.Duration
}

// oversold counts what was sold and was not there.
func (r result) oversold() int { return max(0, len(r.sales)-r.stock) }

// lost counts the sales whose write somebody else has overwritten.
func (r result) lost() int { return len(r.sales) - (r.stock - r.left) }

// twice counts the sales of a thing that somebody else has bought as well.
func (r result) twice() int {
	items := map[int]bool{}
	for _, s := range r.sales {
		items[s.item] = true
	}
	return len(r.sales) - len(items)
}

// fencesInOrder: whoever bought later, by the number of the thing, has the
// larger fence.
func (r result) fencesInOrder() bool {
	sales := slices.SortedStableFunc(slices.Values(r.sales), func(a, b sale) int { return cmp.Compare(b.item, a.item) })
	for i := 1; i < len(sales); i++ {
		if sales[i].fence <= sales[i-1].fence {
			return false
		}
	}
	return true
}

func (r result) fenced() bool { return len(r.sales) > 0 && r.sales[0].fence > 0 }

func printTable(out io.Writer, results []result) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "round\tsold\tleft\toversold\tlost updates\tsold twice\tinside at once\tfences in order\ttime\t")
	for _, r := range results {
		order := "-"
		if r.fenced() {
			order = fmt.Sprint(r.fencesInOrder())
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%s\t%s\t\n", r.name, len(r.sales), r.left,
			r.oversold(), r.lost(), r.twice(), r.crowd, order, r.took.Round(time.Millisecond))
	}
	return w.Flush()
}
