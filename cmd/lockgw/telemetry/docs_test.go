package telemetry

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

var update = flag.Bool("update", false, "write the table of instruments into docs/telemetry.md")

const docs = "../../../docs/telemetry.md"

// The table in the docs is what the program has, name by name.
func TestDocs(t *testing.T) {
	tel := everything(t)
	var rows []string
	for _, m := range tel.collect(t) {
		if strings.HasPrefix(m.Name, "lockgw.") || strings.HasPrefix(m.Name, "http.") {
			rows = append(rows, row(m))
		}
	}
	slices.Sort(rows)
	want := "| OpenTelemetry | Prometheus | kind, unit | attributes | what it tells |\n|---|---|---|---|---|\n" + strings.Join(rows, "\n") + "\n"
	text, err := os.ReadFile(docs)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- instruments -->\n", "<!-- end of instruments -->"
	before, rest, ok := strings.Cut(string(text), begin)
	got, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has not both %q and %q", docs, begin, end)
	}
	if *update {
		if err := os.WriteFile(docs, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got != want {
		t.Errorf("the table in %s is\n%s\nwant (go test ./cmd/lockgw/telemetry -run TestDocs -update writes it)\n%s", docs, got, want)
	}
	for _, name := range tel.scraped(t) {
		where := string(text)
		switch {
		case strings.HasPrefix(name, "lockgw_"), strings.HasPrefix(name, "http_"):
			where = want
		case strings.HasPrefix(name, "go_"), strings.HasPrefix(name, "process_"):
			continue
		}
		if !strings.Contains(where, "`"+name+"`") {
			t.Errorf("%s is served to Prometheus, but not in %s", name, docs)
		}
	}
}

func row(m metricdata.Metrics) string {
	kind, sets := describe(m)
	keys := []string{}
	for _, s := range sets {
		for _, kv := range s.ToSlice() {
			if !slices.Contains(keys, string(kv.Key)) {
				keys = append(keys, string(kv.Key))
			}
		}
	}
	slices.Sort(keys)
	unit := m.Unit
	if unit != "" {
		unit = ", " + unit
	}
	return fmt.Sprintf("| `%s` | `%s` | %s%s | %s | %s |", m.Name, prometheusName(m.Name, m.Unit, kind), kind, unit, strings.Join(keys, ", "), m.Description)
}

func describe(m metricdata.Metrics) (kind string, sets []attribute.Set) {
	switch d := m.Data.(type) {
	case metricdata.Histogram[float64]:
		return "histogram", setsOf(d.DataPoints, func(p metricdata.HistogramDataPoint[float64]) attribute.Set { return p.Attributes })
	case metricdata.Sum[int64]:
		kind = "gauge"
		if d.IsMonotonic {
			kind = "counter"
		}
		return kind, setsOf(d.DataPoints, func(p metricdata.DataPoint[int64]) attribute.Set { return p.Attributes })
	case metricdata.Gauge[int64]:
		return "gauge", setsOf(d.DataPoints, func(p metricdata.DataPoint[int64]) attribute.Set { return p.Attributes })
	case metricdata.Gauge[float64]:
		return "gauge", setsOf(d.DataPoints, func(p metricdata.DataPoint[float64]) attribute.Set { return p.Attributes })
	default:
		return fmt.Sprintf("%T", d), nil
	}
}

func setsOf[P any](points []P, of func(P) attribute.Set) (sets []attribute.Set) {
	for _, p := range points {
		sets = append(sets, of(p))
	}
	return sets
}

// prometheusName is what the exporter makes of a name; that it does is checked by what
// is served.
func prometheusName(name, unit, kind string) string {
	name = strings.ReplaceAll(name, ".", "_")
	if unit == "s" {
		name += "_seconds"
	}
	if kind == "counter" {
		name += "_total"
	}
	return name
}
