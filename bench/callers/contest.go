package callers

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/lockgw/lockgw/bench/figures"
	"github.com/lockgw/lockgw/bench/rig"
)

// Contestant is what is measured in one row.
type Contestant struct {
	Name  string
	Trips float64 // round trips of the limit that one op stands for
	Open  func(n int) (Crew, error)
}

// Contest is a group of rows that are measured in turn.
type Contest struct {
	Group  string
	N      int // callers
	Rounds int
	Slice  time.Duration // of a row in one round; 0: each caller does it once
	All    []Contestant  // the first is the limit
	Plain  string        // the one that does without a gateway
}

// Hold measures the contest and adds its rows to t.
func (c Contest) Hold(ctx context.Context, r *rig.Rig, t *figures.Table) error {
	fmt.Fprintf(os.Stderr, "measuring: %s, %d callers\n", c.Group, c.N)
	rows := make([]*figures.Row, len(c.All))
	crews := make([]Crew, len(c.All))
	defer func() {
		for _, crew := range crews {
			if crew.Close != nil {
				_ = crew.Close() // what it had to say is in the samples
			}
		}
	}()
	for i, a := range c.All {
		var err error
		rows[i] = &figures.Row{Group: c.Group, Name: a.Name, Callers: c.N, Trips: a.Trips, Together: c.Slice == 0}
		if crews[i], err = a.Open(c.N); err == nil {
			_, err = c.measure(crews[i]) // warms up
		}
		if err != nil {
			return fmt.Errorf("%s: %s, %d callers: %w", c.Group, a.Name, c.N, err)
		}
	}
	for round := range c.Rounds {
		for k := range c.All {
			i := (k + round) % len(c.All) // nobody always follows the same one
			if err := ctx.Err(); err != nil {
				return err
			}
			s, err := count(ctx, r, rows[i], func() (figures.Sample, error) { return c.measure(crews[i]) })
			if err != nil {
				return fmt.Errorf("%s: %s, %d callers: %w", c.Group, c.All[i].Name, c.N, err)
			}
			rows[i].Samples = append(rows[i].Samples, s)
		}
	}
	t.Add(rows, c.Plain)
	return nil
}

func (c Contest) measure(w Crew) (figures.Sample, error) {
	if w.Once != nil {
		return w.Once()
	}
	return Load(w, c.Slice)
}

// count adds to w what the servers did in f.
func count(ctx context.Context, r *rig.Rig, w *figures.Row, f func() (figures.Sample, error)) (figures.Sample, error) {
	before, err := r.Work(ctx)
	if err != nil {
		return figures.Sample{}, err
	}
	s, err := f()
	if err != nil {
		return s, err
	}
	after, err := r.Work(ctx)
	w.Work = w.Work.Add(after).Subtract(before)
	w.Ops += float64(s.Ops)
	return s, err
}
