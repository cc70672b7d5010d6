package telemetry

import (
	"context"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/lockgw/lockgw/session"
)

const (
	pulsePeriod = 500 * time.Millisecond
	// tolerance is what a busy machine is late by without anybody noticing, and what a
	// clock is adjusted by in small steps.
	tolerance = 100 * time.Millisecond
	// worthALine is from when on the log tells of it, for whoever finds there that locks were lost, or
	// that times do not fit together.
	worthALine = time.Second
)

// pulse notices what a process cannot see while it happens: that it did not run
// (suspended, stopped, starved), and that somebody has set the clock.
type pulse struct {
	pause metric.Float64Histogram
	jump  metric.Int64Counter
	log   *slog.Logger

	boot time.Duration // of the last beat
	wall time.Time
}

func newPulse(m metric.Meter, log *slog.Logger) (*pulse, error) {
	p := &pulse{log: log}
	var err error
	if p.pause, err = m.Float64Histogram("lockgw.pause", metric.WithUnit("s"),
		metric.WithDescription("Time that the process did not run: machine asleep, process stopped or starved. Longer than a lease, it loses holds."),
		metric.WithExplicitBucketBoundaries(.1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 3600)); err != nil {
		return nil, err
	}
	p.jump, err = m.Int64Counter("lockgw.clock.jump", metric.WithUnit("{jump}"),
		metric.WithDescription("Times that the wall clock was set. Leases do not go by it; the times in logs and answers do."))
	if err != nil {
		return nil, err
	}
	p.jump.Add(context.Background(), 0, forward) // see observer.begin
	p.jump.Add(context.Background(), 0, back)
	return p, nil
}

var (
	forward = metric.WithAttributes(attribute.String("direction", "forward"))
	back    = metric.WithAttributes(attribute.String("direction", "back"))
)

func (p *pulse) run(ctx context.Context) {
	p.boot, p.wall = session.Boottime(), time.Now().Round(0)
	tick := time.NewTicker(pulsePeriod)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			p.beat(ctx, session.Boottime(), time.Now().Round(0))
		}
	}
}

// beat compares what two clocks say has passed; wall must be without a monotonic
// reading.
func (p *pulse) beat(ctx context.Context, boot time.Duration, wall time.Time) {
	passed := boot - p.boot
	late := passed - pulsePeriod
	if late > tolerance {
		p.pause.Record(ctx, late.Seconds())
	}
	if late >= worthALine {
		p.log.Warn("the gateway did not run: the machine slept, or the process was stopped or starved", "for", text(late))
	}
	ahead := wall.Sub(p.wall) - passed
	switch {
	case ahead > tolerance:
		p.jump.Add(ctx, 1, forward)
	case ahead < -tolerance:
		p.jump.Add(ctx, 1, back)
	}
	if ahead.Abs() >= worthALine {
		p.log.Warn("the clock was set; leases do not go by it, the times in logs and answers do", "by", text(ahead))
	}
	p.boot, p.wall = boot, wall
}

func text(d time.Duration) string { return d.Round(time.Millisecond).String() }
