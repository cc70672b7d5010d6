package figures

import (
	"strings"
	"testing"
	"time"
)

func TestMedians(t *testing.T) {
	if got := Median([]float64{9, 1, 5}); got != 5 {
		t.Errorf("median = %v, want 5", got)
	}
	sorted := []time.Duration{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}
	if got := quantile(sorted, 0.99); got != 10 {
		t.Errorf("quantile 0.99 = %v, want 10", got)
	}
	if got := quantile(sorted[:1], 0.99); got != 1 {
		t.Errorf("quantile 0.99 of one = %v, want 1", got)
	}
	// The ratio is of each round: a machine that becomes slower changes both.
	a, b := &Row{Samples: []Sample{{Rate: 10}, {Rate: 1}, {Rate: 2}}}, &Row{Samples: []Sample{{Rate: 20}, {Rate: 2}, {Rate: 4}}}
	if got := Over(func(s []Sample) float64 { return s[0].Rate / s[1].Rate }, a, b); got != 0.5 {
		t.Errorf("ratio = %v, want 0.5", got)
	}
}

func TestJudge(t *testing.T) {
	always := func(ratio float64, ok bool) func(*Table) (float64, bool) {
		return func(*Table) (float64, bool) { return ratio, ok }
	}
	for _, tt := range []struct {
		target Target
		want   string
	}{
		{Target{Bound: 1.6, Ratio: always(1.6, true)}, "reached"},
		{Target{Bound: 1.6, Ratio: always(1.61, true)}, "MISSED"},
		{Target{Bound: 0.8, Least: true, Ratio: always(0.8, true)}, "reached"},
		{Target{Bound: 0.8, Least: true, Ratio: always(0.79, true)}, "MISSED"},
		{Target{Bound: 0.8, Ratio: always(0, false)}, "not measured"},
	} {
		if got := tt.target.Judge(&Table{}); !strings.HasPrefix(got, tt.want) {
			t.Errorf("judge = %q, want %q", got, tt.want)
		}
	}
}
