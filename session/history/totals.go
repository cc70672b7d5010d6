package history

import (
	"encoding/json"
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

// Durations counts durations in little space. Percentiles of them are at most a fifth too
// large, because the steps of the scale are four to each doubling.
type Durations struct {
	n     int
	sum   time.Duration
	worst time.Duration
	steps map[int]int
}

const perDoubling = 4

// Add counts one more duration.
func (d *Durations) Add(x time.Duration) {
	if d.steps == nil {
		d.steps = map[int]int{}
	}
	d.n++
	d.sum += x
	d.worst = max(d.worst, x)
	d.steps[int(perDoubling*math.Log2(float64(x.Microseconds()+1)))]++
}

func (d *Durations) merge(o Durations) {
	if d.steps == nil {
		d.steps = map[int]int{}
	}
	d.n += o.n
	d.sum += o.sum
	d.worst = max(d.worst, o.worst)
	for step, n := range o.steps {
		d.steps[step] += n
	}
}

// N is how many durations were counted.
func (d *Durations) N() int { return d.n }

// Sum is the sum of the durations.
func (d *Durations) Sum() time.Duration { return d.sum }

// Worst is the longest duration.
func (d *Durations) Worst() time.Duration { return d.worst }

// Percentile is the duration that the fraction p of all does not exceed, or up to a fifth
// more; 0 if there are none.
func (d *Durations) Percentile(p float64) time.Duration {
	left := int(math.Ceil(p * float64(d.n)))
	for _, step := range slices.Sorted(maps.Keys(d.steps)) {
		if left -= d.steps[step]; left <= 0 {
			us := math.Pow(2, float64(step+1)/perDoubling) - 1
			return min(time.Duration(us*float64(time.Microsecond)), d.worst)
		}
	}
	return d.worst
}

// durationsLine is Durations as JSON.
type durationsLine struct {
	SumUS   int64       `json:"sum_us"`
	WorstUS int64       `json:"worst_us"`
	Steps   map[int]int `json:"steps,omitempty"` // how many are of each step of the scale
}

// MarshalJSON implements json.Marshaler.
func (d Durations) MarshalJSON() ([]byte, error) {
	return json.Marshal(durationsLine{d.sum.Microseconds(), d.worst.Microseconds(), d.steps})
}

// UnmarshalJSON implements json.Unmarshaler.
func (d *Durations) UnmarshalJSON(b []byte) error {
	var l durationsLine
	if err := json.Unmarshal(b, &l); err != nil {
		return err
	}
	*d = Durations{sum: time.Duration(l.SumUS) * time.Microsecond, worst: time.Duration(l.WorstUS) * time.Microsecond, steps: l.Steps}
	for _, n := range l.Steps {
		d.n += n
	}
	return nil
}
