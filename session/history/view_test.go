package history

import (
	"context"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/session"
)

// waits tells that the context is asked for its end, which is when something waits.
type waits struct {
	context.Context
	asked chan struct{}
}

func (w waits) Done() <-chan struct{} {
	w.asked <- struct{}{}
	return w.Context.Done()
}

// A report is of one moment, however long it takes to read the files. What ended meanwhile is in it
// once, and what began meanwhile is not, above all not as something that was cut off.
func TestReportIsOfOneMoment(t *testing.T) {
	began := time.Now().Add(-time.Minute)
	step := func(kind session.StepKind, owner backend.Owner, asked, at time.Time) session.Step {
		return session.Step{Kind: kind, Lock: "x", Who: session.Holder{Owner: owner, Since: at}, Asked: asked, Time: at, Reason: "locked"}
	}
	for name, report := range map[string]func(ctx context.Context, h *History) (Totals, []Told){
		"of a lock": func(ctx context.Context, h *History) (Totals, []Told) {
			r, err := h.Of(ctx, Query{Lock: "x"})
			if err != nil {
				t.Error(err)
			}
			return r.Totals, r.Attempts
		},
		"of all locks": func(ctx context.Context, h *History) (Totals, []Told) {
			all, err := h.Contended(ctx, time.Time{}, 10, func(string) bool { return true })
			if err != nil || len(all) != 1 {
				t.Errorf("%+v, %v; want one lock", all, err)
				return Totals{}, nil
			}
			return all[0].Totals, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			h, err := Open(Config{Dir: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			defer h.Close()
			h.Record(step(session.StepWaits, "first:1", began, time.Time{}))
			ctx := waits{context.Background(), make(chan struct{}, 100)}
			h.scans <- struct{}{} // another report is being made
			type answer struct {
				totals   Totals
				attempts []Told
			}
			got := make(chan answer, 1)
			go func() {
				totals, attempts := report(ctx, h)
				got <- answer{totals, attempts}
			}()
			<-ctx.asked
			<-ctx.asked // it knows what goes on, and waits for its turn to read
			h.Record(step(session.StepGranted, "first:1", began, began.Add(10*time.Second)))
			h.Record(step(session.StepReleased, "first:1", began, began.Add(10*time.Second)))
			h.Record(step(session.StepWaits, "second:1", began.Add(20*time.Second), time.Time{}))
			if _, err := h.view(context.Background()); err != nil { // all that has come is written
				t.Fatal(err)
			}
			<-h.scans
			a := <-got
			if a.totals.Attempts != 1 || len(a.attempts) > 1 {
				t.Errorf("%d attempts, %+v; want the first one once", a.totals.Attempts, a.attempts)
			}
			for _, at := range a.attempts {
				if at.Outcome != Waiting || at.Who.Owner != "first:1" {
					t.Errorf("%s %s, want the first one, waiting", at.Who.Owner, at.Outcome)
				}
			}
		})
	}
}
