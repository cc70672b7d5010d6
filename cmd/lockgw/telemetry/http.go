package telemetry

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gin-gonic/gin"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// httpServer measures and traces the requests to the API by the conventions of
// OpenTelemetry. otelgin would do so too, but it labels by the Host header, which a
// client on a Unix socket chooses, and has one span for all of a hold.
type httpServer struct {
	duration metric.Float64Histogram
	tracing  bool
	tracer   trace.Tracer
	parents  propagation.TextMapPropagator
	options  sync.Map // of httpLabels to []metric.RecordOption; there are few
}

type httpLabels struct {
	method, route string
	status        int
}

// HTTP is for the engine of the API. It sees what is under /v1: not the probes, and
// not the metrics themselves. A stream lasts as long as its hold, so it is not
// measured and has no span; what is acquired on it has.
func (t *Telemetry) HTTP() (gin.HandlerFunc, error) {
	duration, err := t.meters.Meter(scope).Float64Histogram("http.server.request.duration", metric.WithUnit("s"),
		metric.WithDescription("Duration of HTTP server requests."),
		metric.WithExplicitBucketBoundaries(.001, .005, .01, .025, .05, .075, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10, 30, 60, 300))
	if err != nil {
		return nil, err
	}
	h := &httpServer{duration: duration, tracing: t.tracing, tracer: t.tracers.Tracer(scope), parents: t.parents}
	return h.handle, nil
}

func (h *httpServer) handle(c *gin.Context) {
	route := c.FullPath()
	if !strings.HasPrefix(route, "/v1/") {
		return
	}
	if isStream(route) {
		if h.tracing {
			c.Request = c.Request.WithContext(h.parents.Extract(c.Request.Context(), propagation.HeaderCarrier(c.Request.Header)))
		}
		return
	}
	began, answered := time.Now(), false
	span := h.begin(c, route)
	defer func() {
		status := c.Writer.Status()
		if !answered && !c.Writer.Written() {
			status = statusHungUp
		}
		h.end(c, route, span, status, time.Since(began))
	}()
	c.Next()
	answered = true // else the connection is cut
}

// statusHungUp is noted of a request whose client has hung up, so that it was not answered. It
// is what proxies note then; no client is told it.
const statusHungUp = 499

// isStream tells whether the answer lasts as long as the client likes.
func isStream(route string) bool {
	return strings.HasSuffix(route, "/hold") || strings.HasSuffix(route, "/events")
}

// begin takes the trace from the request and tells its own in the answer.
func (h *httpServer) begin(c *gin.Context, route string) trace.Span {
	if !h.tracing {
		return nil
	}
	ctx := h.parents.Extract(c.Request.Context(), propagation.HeaderCarrier(c.Request.Header))
	ctx, span := h.tracer.Start(ctx, c.Request.Method+" "+route, trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(
		attribute.String("http.request.method", c.Request.Method), attribute.String("http.route", route),
		attribute.String("lockgw.request_id", c.Writer.Header().Get("Lockgw-Request-Id"))))
	c.Request = c.Request.WithContext(ctx)
	if parent := traceparent(ctx); parent != "" {
		c.Header("Traceresponse", parent)
	}
	return span
}

func (h *httpServer) end(c *gin.Context, route string, span trace.Span, status int, took time.Duration) {
	h.duration.Record(c.Request.Context(), took.Seconds(), h.labels(c.Request.Method, route, status)...)
	if span == nil {
		return
	}
	span.SetAttributes(attribute.Int("http.response.status_code", status))
	if status >= http.StatusInternalServerError {
		span.SetStatus(codes.Error, "")
	}
	span.End()
}

var methods = []string{http.MethodGet, http.MethodPut, http.MethodPost, http.MethodDelete}

func (h *httpServer) labels(method, route string, status int) []metric.RecordOption {
	if !slices.Contains(methods, method) {
		method = "_OTHER" // a client may send anything
	}
	key := httpLabels{method, route, status}
	if o, ok := h.options.Load(key); ok {
		return o.([]metric.RecordOption)
	}
	o := recordOptions(attribute.String("http.request.method", method), attribute.String("http.route", route), attribute.Int("http.response.status_code", status))
	h.options.Store(key, o)
	return o
}
