package figures

import (
	"fmt"
	"slices"
	"time"
)

// Sample is what one slice has shown.
type Sample struct {
	Ops      int
	Rate     float64 // ops per second, of all callers
	P50, P99 time.Duration
}

// SampleOf things that took so long each, and together.
func SampleOf(times []time.Duration, together time.Duration, err error) (Sample, error) {
	if err != nil || len(times) == 0 {
		return Sample{}, fmt.Errorf("%d done: %w", len(times), err)
	}
	slices.Sort(times)
	return Sample{
		Ops: len(times), Rate: float64(len(times)) / together.Seconds(),
		P50: quantile(times, 0.5), P99: quantile(times, 0.99),
	}, nil
}

// quantile of what is sorted and not empty.
func quantile[T any](sorted []T, q float64) T { return sorted[int(q*float64(len(sorted)-1))] }

// Median of values, which are not changed; there is one at least.
func Median[T interface{ ~int64 | ~float64 }](v []T) T {
	v = slices.Clone(v)
	slices.Sort(v)
	return quantile(v, 0.5)
}
