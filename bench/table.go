package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// table is what was measured so far.
type table struct{ rows []*row }

type row struct {
	group, name string
	callers     int
	trips       float64 // round trips of the limit in one op
	samples     []sample
	work        work // for all ops of all samples
	ops         float64
	note        string  // instead of figures
	figure      float64 // of a row with a note: what a target is about

	limit, plain *row // of the same contest; nil: none
}

// add adds the rows of a contest: the first is the limit, and one may be plain.
func (t *table) add(rows []*row, plain string) {
	for _, w := range rows {
		w.limit = rows[0]
		for _, other := range rows {
			if plain != "" && other.name == plain {
				w.plain = other
			}
		}
	}
	t.rows = append(t.rows, rows...)
}

// find is nil if there is no such row.
func (t *table) find(group, name string, callers int) *row {
	for _, w := range t.rows {
		if w.group == group && w.name == name && (callers == 0 || w.callers == callers) {
			return w
		}
	}
	return nil
}

// over is the median, over the rounds, of what f makes of the samples of all rows.
func over(f func(s []sample) float64, rows ...*row) float64 {
	values := make([]float64, len(rows[0].samples))
	for i := range values {
		of := make([]sample, len(rows))
		for k, w := range rows {
			of[k] = w.samples[i]
		}
		values[i] = f(of)
	}
	return median(values)
}

func (w *row) rate() float64 { return over(func(s []sample) float64 { return s[0].rate }, w) }

func (w *row) took(f func(sample) time.Duration) time.Duration {
	return time.Duration(over(func(s []sample) float64 { return float64(f(s[0])) }, w))
}

// share is how much of the limit, or of another row's speed, w reaches.
func (w *row) share(of *row) string {
	if of == nil {
		return ""
	}
	return fmt.Sprintf("%.2f", over(func(s []sample) float64 { return s[0].rate * w.trips / (s[1].rate * of.trips) }, w, of))
}

// The columns: how wide each is, and its head in two lines.
var columns = []struct {
	width     int
	head, sub string
}{
	{8, "", "callers"}, {9, "", "ops/s"}, {10, "all took", "ms"}, {9, "p50", "us"}, {9, "p99", "us"},
	{8, "of the", "limit"}, {9, "of", "go-redis"},
	{10, "CPU us", "caller"}, {8, "per op", "gateway"}, {6, "", "Redis"}, {12, "Redis per op", "commands"}, {8, "", "scripts"},
}

const nameWidth = 47

func (t *table) print(out io.Writer) error {
	var b strings.Builder
	group := ""
	for _, w := range t.rows {
		if w.group != group {
			group = w.group
			t.head(&b, group)
		}
		fmt.Fprintf(&b, "%-*s", nameWidth, w.name)
		for i, cell := range w.cells() {
			fmt.Fprintf(&b, "%*s", columns[i].width, cell)
		}
		b.WriteString("\n")
	}
	_, err := io.WriteString(out, b.String())
	return err
}

func (t *table) head(b *strings.Builder, group string) {
	fmt.Fprintf(b, "\n%-*s", nameWidth, "")
	for _, c := range columns {
		fmt.Fprintf(b, "%*s", c.width, c.head)
	}
	fmt.Fprintf(b, "\n%-*s", nameWidth, strings.ToUpper(group))
	for _, c := range columns {
		fmt.Fprintf(b, "%*s", c.width, c.sub)
	}
	b.WriteString("\n")
}

// cells are what the row has to say, in the order of columns.
func (w *row) cells() []string {
	callers := strconv.Itoa(w.callers)
	if w.note != "" {
		return []string{callers, "  " + w.note}
	}
	together := ""
	if strings.HasPrefix(w.group, crowdGroup) {
		together = fmt.Sprintf("%.0f", 1000*float64(w.callers)/w.rate())
	}
	return append([]string{
		callers, fmt.Sprintf("%.0f", w.rate()), together,
		us(w.took(func(s sample) time.Duration { return s.p50 })), us(w.took(func(s sample) time.Duration { return s.p99 })),
		w.share(w.limit), w.share(w.plain),
	}, w.perOp()...)
}

// perOp is what one op costs whom. Ticks of the clocks that say so, and what
// Redis does by itself, are not worth telling.
func (w *row) perOp() []string {
	one := w.work.per(w.ops)
	var cells []string
	for _, seconds := range []float64{one.callers, one.gateways, one.redis} {
		cells = append(cells, fmt.Sprintf("%.0f", 1e6*seconds))
	}
	if one.commands < 0.05 {
		return cells
	}
	return append(cells, fmt.Sprintf("%.1f", one.commands), fmt.Sprintf("%.2f", one.scripts))
}

func us(d time.Duration) string { return fmt.Sprintf("%.0f", float64(d)/float64(time.Microsecond)) }
