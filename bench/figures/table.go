// Package figures has what was measured: samples, the work that they cost, the table of
// them, and the targets that are judged by it. It measures nothing itself.
package figures

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// Table is what was measured so far.
type Table struct{ rows []*Row }

// Row is what was measured of one contestant.
type Row struct {
	Group, Name string
	Callers     int
	Trips       float64 // round trips of the limit in one op
	Samples     []Sample
	Together    bool // all callers did it once, at the same time: how long all took is told
	Work        Work // for all ops of all samples
	Ops         float64
	Note        string  // instead of figures
	figure      float64 // of a row with a note: what a target is about

	limit, plain *Row // of the same contest; nil: none
}

// Add adds the rows of a contest: the first is the limit, and one may be plain.
func (t *Table) Add(rows []*Row, plain string) {
	for _, w := range rows {
		w.limit = rows[0]
		for _, other := range rows {
			if plain != "" && other.Name == plain {
				w.plain = other
			}
		}
	}
	t.rows = append(t.rows, rows...)
}

// Find is nil if there is no such row.
func (t *Table) Find(group, name string, callers int) *Row {
	for _, w := range t.rows {
		if w.Group == group && w.Name == name && (callers == 0 || w.Callers == callers) {
			return w
		}
	}
	return nil
}

// Over is the median, over the rounds, of what f makes of the samples of all rows.
func Over(f func(s []Sample) float64, rows ...*Row) float64 {
	values := make([]float64, len(rows[0].Samples))
	for i := range values {
		of := make([]Sample, len(rows))
		for k, w := range rows {
			of[k] = w.Samples[i]
		}
		values[i] = f(of)
	}
	return Median(values)
}

func (w *Row) rate() float64 { return Over(func(s []Sample) float64 { return s[0].Rate }, w) }

// Took is the median, over the rounds, of a time of the samples.
func (w *Row) Took(f func(Sample) time.Duration) time.Duration {
	return time.Duration(Over(func(s []Sample) float64 { return float64(f(s[0])) }, w))
}

// share is how much of the limit, or of another row's speed, w reaches.
func (w *Row) share(of *Row) string {
	if of == nil {
		return ""
	}
	return fmt.Sprintf("%.2f", Over(func(s []Sample) float64 { return s[0].Rate * w.Trips / (s[1].Rate * of.Trips) }, w, of))
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

// Print writes the groups, each with a head.
func (t *Table) Print(out io.Writer) error {
	var b strings.Builder
	group := ""
	for _, w := range t.rows {
		if w.Group != group {
			group = w.Group
			t.head(&b, group)
		}
		fmt.Fprintf(&b, "%-*s", nameWidth, w.Name)
		for i, cell := range w.cells() {
			fmt.Fprintf(&b, "%*s", columns[i].width, cell)
		}
		b.WriteString("\n")
	}
	_, err := io.WriteString(out, b.String())
	return err
}

func (t *Table) head(b *strings.Builder, group string) {
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
func (w *Row) cells() []string {
	callers := strconv.Itoa(w.Callers)
	if w.Note != "" {
		return []string{callers, "  " + w.Note}
	}
	together := ""
	if w.Together {
		together = fmt.Sprintf("%.0f", 1000*float64(w.Callers)/w.rate())
	}
	return append([]string{
		callers, fmt.Sprintf("%.0f", w.rate()), together,
		Micros(w.Took(func(s Sample) time.Duration { return s.P50 })), Micros(w.Took(func(s Sample) time.Duration { return s.P99 })),
		w.share(w.limit), w.share(w.plain),
	}, w.perOp()...)
}

// perOp is what one op costs whom. Ticks of the clocks that say so, and what
// Redis does by itself, are not worth telling.
func (w *Row) perOp() []string {
	one := w.Work.Per(w.Ops)
	var cells []string
	for _, seconds := range []float64{one.Callers, one.Gateways, one.Redis} {
		cells = append(cells, fmt.Sprintf("%.0f", 1e6*seconds))
	}
	if one.Commands < 0.05 {
		return cells
	}
	return append(cells, fmt.Sprintf("%.1f", one.Commands), fmt.Sprintf("%.2f", one.Scripts))
}

// Micros is d in microseconds.
func Micros(d time.Duration) string { return fmt.Sprintf("%.0f", float64(d)/float64(time.Microsecond)) }

// Note adds a row that is told in words.
func (t *Table) Note(group, name string, n int, figure float64, format string, args ...any) {
	t.Add([]*Row{{Group: group, Name: name, Callers: n, figure: figure, Note: fmt.Sprintf(format, args...)}}, "")
}

// KiB is what one of n takes of so many bytes.
func KiB(bytes int64, n int) float64 { return float64(bytes) / 1024 / float64(n) }

// MiB is so many bytes in MiB.
func MiB(bytes int64) float64 { return float64(bytes) / (1 << 20) }
