// Package instrument measures what a store is asked: how long it took, how it ended,
// and, on behalf of a caller that is traced, a span.
//
// Requests that nobody waits for (renewals by the watchdog, probes) are counted and
// get no span: a trace of each would be noise, and tells nothing that the metrics do
// not. Lock names are in spans alone.
package instrument

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/lockgw/lockgw/backend"
)

const scope = "github.com/lockgw/lockgw/backend/instrument"

// buckets suit a store in this process, on this machine and across a network.
var buckets = []float64{.00001, .00005, .0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2}

// recorder notes what becomes of requests to one store.
type recorder struct {
	store    string // its type
	duration metric.Float64Histogram
	errors   metric.Int64Counter
	tracer   trace.Tracer
	options  [operations]operationOptions
}

// operationOptions are made once, so that a request costs no allocation.
type operationOptions struct {
	ok, failed []metric.RecordOption
	span       trace.SpanStartOption
}

func newRecorder(store string, mp metric.MeterProvider, tp trace.TracerProvider) (*recorder, error) {
	m := mp.Meter(scope)
	duration, err := m.Float64Histogram("lockgw.backend.request.duration", metric.WithUnit("s"),
		metric.WithDescription("How long the store took to answer a request."), metric.WithExplicitBucketBoundaries(buckets...))
	if err != nil {
		return nil, err
	}
	failures, err := m.Int64Counter("lockgw.backend.errors", metric.WithUnit("{error}"),
		metric.WithDescription("Requests that the store did not answer, or refused."))
	if err != nil {
		return nil, err
	}
	r := &recorder{store: store, duration: duration, errors: failures, tracer: tp.Tracer(scope)}
	for op := range operations {
		set := attribute.NewSet(attribute.String("backend", store), attribute.String("operation", op.String()), attribute.Bool("failed", false))
		bad := attribute.NewSet(attribute.String("backend", store), attribute.String("operation", op.String()), attribute.Bool("failed", true))
		r.options[op] = operationOptions{
			ok:     []metric.RecordOption{metric.WithAttributeSet(set)},
			failed: []metric.RecordOption{metric.WithAttributeSet(bad)},
			span:   trace.WithAttributes(attribute.String("backend", store)),
		}
	}
	return r, nil
}

// call is a request under way.
type call struct {
	r     *recorder
	op    operation
	began time.Time
	span  trace.Span // nil: not traced
}

// begin has a span only under one that is recorded.
func (r *recorder) begin(ctx context.Context, op operation, name string) (context.Context, call) {
	c := call{r: r, op: op, began: time.Now()}
	if trace.SpanContextFromContext(ctx).IsSampled() {
		ctx, c.span = r.tracer.Start(ctx, "backend "+op.String(), trace.WithSpanKind(trace.SpanKindClient), r.options[op].span)
		if name != "" {
			c.span.SetAttributes(attribute.String("lockgw.lock.name", name))
		}
	}
	return ctx, c
}

func (c call) end(ctx context.Context, err error) {
	kind := errorType(err)
	options := c.r.options[c.op].ok
	if kind != "" {
		options = c.r.options[c.op].failed
		c.r.errors.Add(ctx, 1, metric.WithAttributes(
			attribute.String("backend", c.r.store), attribute.String("operation", c.op.String()), attribute.String("error.type", kind)))
	}
	c.r.duration.Record(ctx, time.Since(c.began).Seconds(), options...)
	if c.span == nil {
		return
	}
	if kind != "" {
		c.span.SetAttributes(attribute.String("error.type", kind))
		c.span.SetStatus(codes.Error, err.Error())
	}
	c.span.End()
}

// errorType is "" for what is an answer: that somebody else holds a name, or that a
// store has no such verb, is nothing to be alarmed of.
func errorType(err error) string {
	switch {
	case err == nil, errors.Is(err, backend.ErrNotHeld),
		errors.Is(err, backend.ErrFence), errors.Is(err, errors.ErrUnsupported):
		return ""
	case errors.Is(err, backend.ErrUnreachable):
		return "unreachable"
	case errors.Is(err, backend.ErrRefused):
		return "refused"
	case errors.Is(err, backend.ErrUnavailable):
		return "unavailable"
	case errors.Is(err, backend.ErrInvalid):
		return "invalid"
	default:
		return "other"
	}
}
