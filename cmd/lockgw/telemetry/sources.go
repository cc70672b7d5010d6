package telemetry

import (
	"context"
	"errors"
	"runtime"
	"runtime/debug"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/lockgw/lockgw/backend/breaker"
	"github.com/lockgw/lockgw/session"
)

// Sources are asked when somebody looks at the metrics.
type Sources struct {
	Stats   func() session.Stats
	Journal func() error // why it is not written
	Backend string       // the type of the store
	// Breaker is its state, and how often it has opened.
	Breaker func() (breaker.State, uint64)
	// ProbeAge is how long ago messages from the store were last known to arrive; nil
	// where that is not known.
	ProbeAge func() time.Duration
}

// gauges are the instruments whose values are asked for.
type gauges struct {
	held, waiters, sessions metric.Int64ObservableUpDownCounter
	journal, breaker        metric.Int64ObservableGauge
	opened                  metric.Int64ObservableCounter
	probe                   metric.Float64ObservableGauge
	build                   metric.Int64ObservableGauge
}

// Watch has the metrics tell what s says. Close ends it.
func (t *Telemetry) Watch(s Sources) error {
	m := t.meters.Meter(scope)
	g, err := newGauges(m)
	if err != nil {
		return err
	}
	store := metric.WithAttributes(attribute.String("backend", s.Backend))
	build := metric.WithAttributeSet(buildInfo(t.cfg.Version, s.Backend))
	_, err = m.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		stats := s.Stats()
		o.ObserveInt64(g.held, int64(stats.Holds))
		o.ObserveInt64(g.waiters, int64(stats.Waiters))
		o.ObserveInt64(g.sessions, int64(stats.Sessions))
		o.ObserveInt64(g.journal, number(s.Journal() != nil))
		state, opened := s.Breaker()
		o.ObserveInt64(g.breaker, int64(state), store)
		o.ObserveInt64(g.opened, int64(opened), store)
		if s.ProbeAge != nil {
			o.ObserveFloat64(g.probe, s.ProbeAge().Seconds(), store)
		}
		o.ObserveInt64(g.build, 1, build)
		return nil
	}, g.held, g.waiters, g.sessions, g.journal, g.breaker, g.opened, g.probe, g.build)
	return err
}

func newGauges(m metric.Meter) (g gauges, _ error) {
	var errs [8]error
	g.held, errs[0] = m.Int64ObservableUpDownCounter("lockgw.locks.held", metric.WithUnit("{lock}"), metric.WithDescription("Holds of this gateway."))
	g.waiters, errs[1] = m.Int64ObservableUpDownCounter("lockgw.waiters", metric.WithUnit("{waiter}"), metric.WithDescription("Callers of this gateway that wait for a lock."))
	g.sessions, errs[2] = m.Int64ObservableUpDownCounter("lockgw.session.count", metric.WithUnit("{session}"), metric.WithDescription("Sessions of this gateway."))
	g.journal, errs[3] = m.Int64ObservableGauge("lockgw.journal.failing", metric.WithDescription("1 while the journal is not written, so that holds would not outlive a restart; else 0."))
	g.breaker, errs[4] = m.Int64ObservableGauge("lockgw.breaker.state", metric.WithDescription("0 closed; 1 half open, trying the store; 2 open, new locks are refused."))
	g.opened, errs[5] = m.Int64ObservableCounter("lockgw.breaker.opened", metric.WithUnit("{time}"), metric.WithDescription("Times that the breaker has opened."))
	g.probe, errs[6] = m.Float64ObservableGauge("lockgw.pubsub.probe.age", metric.WithUnit("s"), metric.WithDescription("Time since messages from the store were last known to arrive. While it grows, waiters are served by timers."))
	g.build, errs[7] = m.Int64ObservableGauge("lockgw.build.info", metric.WithDescription("1, with the version as attributes."))
	return g, errors.Join(errs[:]...)
}

func number(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func buildInfo(version, store string) attribute.Set {
	revision := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				revision = s.Value
			}
		}
	}
	return attribute.NewSet(
		attribute.String("version", version), attribute.String("revision", revision),
		attribute.String("goversion", runtime.Version()), attribute.String("backend", store))
}
