package history

import (
	"maps"
	"math"
	"slices"
	"time"
)

// Totals counts attempts and how long they waited and held.
type Totals struct {
	Attempts int       `json:"attempts"`
	Refused  int       `json:"refused,omitempty"` // or gave up
	Lost     int       `json:"lost,omitempty"`    // or broken by an administrator
	Waited   Durations `json:"waited"`
	Held     Durations `json:"held"`
}

// add counts a, and how long it waited and held as far as that is known.
func (t *Totals) add(a *Attempt, now time.Time) {
	t.Attempts++
	granted, cutOff := !a.Granted.IsZero(), a.Outcome == Unknown
	if granted || !cutOff {
		t.Waited.Add(a.Waited(now))
	}
	if granted && !cutOff {
		t.Held.Add(a.Held(now))
	}
	switch a.Outcome {
	case Refused, GaveUp:
		t.Refused++
	case Lost, Broken:
		t.Lost++
	case Waiting, Holding, Released, Unknown:
	}
}

func (t *Totals) merge(o *Totals) {
	t.Attempts += o.Attempts
	t.Refused += o.Refused
	t.Lost += o.Lost
	t.Waited.merge(o.Waited)
	t.Held.merge(o.Held)
}

// Durations counts durations in little space, to the microsecond. Percentiles of them are at most a
// fifth too large, because the steps of the scale are four to each doubling. The fields are for JSON.
type Durations struct {
	SumUS   int64       `json:"sum_us"`
	WorstUS int64       `json:"worst_us"`
	Steps   map[int]int `json:"steps,omitempty"` // how many are of each step of the scale
}

const perDoubling = 4

// Add counts one more duration.
func (d *Durations) Add(x time.Duration) {
	if d.Steps == nil {
		d.Steps = map[int]int{}
	}
	us := x.Microseconds()
	d.SumUS += us
	d.WorstUS = max(d.WorstUS, us)
	d.Steps[int(perDoubling*math.Log2(float64(us+1)))]++
}

func (d *Durations) merge(o Durations) {
	if d.Steps == nil {
		d.Steps = map[int]int{}
	}
	d.SumUS += o.SumUS
	d.WorstUS = max(d.WorstUS, o.WorstUS)
	for step, n := range o.Steps {
		d.Steps[step] += n
	}
}

// N is how many durations were counted.
func (d *Durations) N() (n int) {
	for _, of := range d.Steps {
		n += of
	}
	return n
}

// Sum is the sum of the durations.
func (d *Durations) Sum() time.Duration { return time.Duration(d.SumUS) * time.Microsecond }

// Worst is the longest duration.
func (d *Durations) Worst() time.Duration { return time.Duration(d.WorstUS) * time.Microsecond }

// Percentile is the duration that the fraction p of all does not exceed, or up to a fifth
// more; 0 if there are none.
func (d *Durations) Percentile(p float64) time.Duration {
	left := int(math.Ceil(p * float64(d.N())))
	for _, step := range slices.Sorted(maps.Keys(d.Steps)) {
		if left -= d.Steps[step]; left <= 0 {
			us := math.Pow(2, float64(step+1)/perDoubling) - 1
			return min(time.Duration(us*float64(time.Microsecond)), d.Worst())
		}
	}
	return d.Worst()
}
