// Package telemetry shows from outside what a gateway does: metrics for Prometheus,
// and, where the variables OTEL_* ask for it, metrics, traces and logs by
// OpenTelemetry.
//
// It decides nothing about locks, and nothing waits for it: what cannot be delivered
// is dropped. Lock names are in spans and never in metrics; tokens are in neither.
package telemetry

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/contrib/instrumentation/runtime"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/trace"
)

// scope names this program to those who read its telemetry.
const scope = "github.com/lockgw/lockgw"

// Config of a Telemetry.
type Config struct {
	Version string
	Node    string
	Groups  Groups // of lock names, for the attribute lock.group
	Log     *slog.Logger

	reader metric.Reader // of tests; nil: none
}

// Telemetry is where a gateway's metrics, spans and logs go.
type Telemetry struct {
	cfg      Config
	meters   *metric.MeterProvider
	tracers  trace.TracerProvider
	tracing  bool
	parents  propagation.TextMapPropagator
	registry *prometheus.Registry
	logs     slog.Handler // nil: no logs are exported

	closers []func(context.Context) error // in the order of opening
	cancel  context.CancelFunc
	wg      sync.WaitGroup
}

// Open prepares what OTEL_* asks for; without it, only the metrics for Prometheus.
// What is wrong with these variables is logged, and that signal is not exported: they
// are often set for all programs of a machine alike, and locks matter more. Close it.
func Open(ctx context.Context, cfg Config) (*Telemetry, error) {
	t := &Telemetry{cfg: cfg, registry: prometheus.NewRegistry()}
	hearComplaints(cfg.Log)
	res, err := resourceOf(ctx, cfg)
	if err != nil {
		cfg.Log.Warn("OTEL_RESOURCE_ATTRIBUTES is not understood in full", "err", err)
	}
	if err := t.openMetrics(ctx, res); err != nil {
		return nil, errors.Join(err, t.Close(ctx))
	}
	t.openTraces(ctx, res)
	t.openLogs(ctx, res)
	if err := runtime.Start(runtime.WithMeterProvider(t.meters)); err != nil {
		return nil, errors.Join(err, t.Close(ctx))
	}
	beat, cancel := context.WithCancel(context.Background())
	t.cancel = cancel
	p, err := newPulse(t.meters.Meter(scope), cfg.Log)
	if err != nil {
		return nil, errors.Join(err, t.Close(ctx))
	}
	t.wg.Go(func() { p.run(beat) })
	return t, nil
}

// Close delivers what is left, until ctx is done.
func (t *Telemetry) Close(ctx context.Context) error {
	if t.cancel != nil {
		t.cancel()
	}
	t.wg.Wait()
	var errs []error
	for i := len(t.closers) - 1; i >= 0; i-- {
		errs = append(errs, t.closers[i](ctx))
	}
	t.closers = nil
	return errors.Join(errs...)
}

// Meters and Tracers are for what measures itself.
func (t *Telemetry) Meters() *metric.MeterProvider { return t.meters }

// Tracers: see Meters. Without OTEL_* its spans are not recorded.
func (t *Telemetry) Tracers() trace.TracerProvider { return t.tracers }

// Handler serves the metrics to Prometheus.
func (t *Telemetry) Handler() http.Handler { return metricsHandler(t.registry, t.cfg.Log) }
