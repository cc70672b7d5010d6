package telemetry

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/contrib/bridges/otelslog"
	"go.opentelemetry.io/contrib/exporters/autoexport"
	"go.opentelemetry.io/contrib/propagators/autoprop"
	"go.opentelemetry.io/otel/attribute"
	prometheusexporter "go.opentelemetry.io/otel/exporters/prometheus"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// asked tells whether the environment wants this signal exported. As OpenTelemetry says, an
// endpoint alone is enough. Without any variable nothing is exported, because a gateway on a
// laptop would complain all day that there is no collector.
func asked(signal string) bool {
	if off, _ := strconv.ParseBool(os.Getenv("OTEL_SDK_DISABLED")); off {
		return false
	}
	for _, name := range []string{"OTEL_" + signal + "_EXPORTER", "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_" + signal + "_ENDPOINT"} {
		if os.Getenv(name) != "" {
			return true
		}
	}
	return false
}

// resourceOf tells this gateway from others. It never has the command line, in which
// there may be a password. On an error it is still of use.
func resourceOf(ctx context.Context, cfg Config) (*resource.Resource, error) {
	return resource.New(ctx,
		resource.WithTelemetrySDK(),
		resource.WithAttributes(
			attribute.String("service.name", "lockgw"), attribute.String("service.version", cfg.Version),
			attribute.String("service.instance.id", cfg.Node), attribute.String("host.name", cfg.Node)),
		resource.WithFromEnv(), // later wins
	)
}

func (t *Telemetry) openMetrics(ctx context.Context, res *resource.Resource) error {
	if err := t.registry.Register(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})); err != nil {
		return err
	}
	scraped, err := prometheusexporter.New(prometheusexporter.WithRegisterer(t.registry), prometheusexporter.WithoutScopeInfo())
	if err != nil {
		return fmt.Errorf("metrics for Prometheus: %w", err)
	}
	options := []metric.Option{metric.WithResource(res), metric.WithReader(scraped)}
	if t.cfg.reader != nil {
		options = append(options, metric.WithReader(t.cfg.reader))
	}
	if asked("METRICS") {
		reader, err := autoexport.NewMetricReader(ctx)
		switch {
		case err != nil:
			t.cfg.Log.Warn("OTEL_METRICS_EXPORTER: metrics are not exported", "err", err)
		case !autoexport.IsNoneMetricReader(reader):
			options = append(options, metric.WithReader(reader))
		}
	}
	t.meters = metric.NewMeterProvider(options...)
	t.closers = append(t.closers, t.meters.Shutdown)
	return nil
}

func (t *Telemetry) openTraces(ctx context.Context, res *resource.Resource) {
	t.tracers, t.parents = noop.NewTracerProvider(), autoprop.NewTextMapPropagator()
	if !asked("TRACES") {
		return
	}
	exporter, err := autoexport.NewSpanExporter(ctx)
	if err != nil {
		t.cfg.Log.Warn("OTEL_TRACES_EXPORTER: traces are not exported", "err", err)
		return
	}
	if autoexport.IsNoneSpanExporter(exporter) {
		return
	}
	tp := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(res))
	t.tracers, t.tracing = tp, true
	t.closers = append(t.closers, tp.Shutdown)
}

// openLogs needs the variable of its own: a log that stderr has already is not sent a
// second time unless somebody wants that.
func (t *Telemetry) openLogs(ctx context.Context, res *resource.Resource) {
	if os.Getenv("OTEL_LOGS_EXPORTER") == "" || !asked("LOGS") {
		return
	}
	exporter, err := autoexport.NewLogExporter(ctx)
	if err != nil {
		t.cfg.Log.Warn("OTEL_LOGS_EXPORTER: logs are not exported", "err", err)
		return
	}
	if autoexport.IsNoneLogExporter(exporter) {
		return
	}
	lp := sdklog.NewLoggerProvider(sdklog.WithProcessor(sdklog.NewBatchProcessor(exporter)), sdklog.WithResource(res))
	t.logs = otelslog.NewHandler(scope, otelslog.WithLoggerProvider(lp))
	t.closers = append(t.closers, lp.Shutdown)
}

// metricsHandler sends the metrics in one write when all are there: promhttp logs each write
// that fails, and a scraper that hangs up is not worth a line in the log.
func metricsHandler(registry *prometheus.Registry, log *slog.Logger) http.Handler {
	inner := promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		EnableOpenMetrics: true, // with exemplars, which lead from a slow acquire to its trace
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		ErrorHandling:     promhttp.ContinueOnError,
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		whole := &wholeAnswer{ResponseWriter: w}
		inner.ServeHTTP(whole, r)
		_, _ = w.Write(whole.body.Bytes()) // nobody to be told
	})
}

// wholeAnswer keeps the body.
type wholeAnswer struct {
	http.ResponseWriter
	body bytes.Buffer
}

func (a *wholeAnswer) Write(b []byte) (int, error) { return a.body.Write(b) }
