package telemetry

import (
	"context"
	"log/slog"
	"os"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// deliverWithin bounds how long a command waits at its end for its spans to be taken.
const deliverWithin = time.Second

// Command traces one command of the command line, `lockgw run`. Its trace goes on from
// TRACEPARENT of the environment. Without OTEL_* nothing is recorded, and that
// variable is passed on as it is.
type Command struct {
	t      *Telemetry
	tracer trace.Tracer
	ctx    context.Context // of the environment
	grant  trace.SpanContext
}

// OpenCommand never fails and never writes to stderr, which belongs to the command. Wrong
// OTEL_* variables are told by the log of the gateway. Close it.
func OpenCommand(ctx context.Context, version string) *Command {
	log := slog.New(slog.DiscardHandler)
	node, _ := os.Hostname() // none is as good as a wrong one
	t := &Telemetry{cfg: Config{Version: version, Node: node, Log: log}}
	hearComplaints(log)
	c := &Command{t: t, ctx: propagation.TraceContext{}.Extract(ctx, environment())}
	if asked("TRACES") {
		res, _ := resourceOf(ctx, t.cfg) // of use in any case
		t.openTraces(ctx, res)
	}
	if t.tracing {
		c.tracer = t.tracers.Tracer(scope)
	}
	return c
}

func environment() propagation.MapCarrier {
	return propagation.MapCarrier{"traceparent": os.Getenv("TRACEPARENT"), "tracestate": os.Getenv("TRACESTATE")}
}

// Acquire begins the span of a wait for locks; end has to be called when it is over.
func (c *Command) Acquire(names []string) (end func(error)) {
	if c.tracer == nil {
		return func(error) {}
	}
	_, span := c.tracer.Start(c.ctx, "acquire lock", trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(attribute.StringSlice("lockgw.lock.names", names)))
	c.grant = span.SpanContext()
	return func(err error) { endSpan(span, err) }
}

// Release begins the span of giving them back, which is linked to that of Acquire: a
// hold is never one span.
func (c *Command) Release() (end func(error)) {
	if c.tracer == nil {
		return func(error) {}
	}
	_, span := c.tracer.Start(c.ctx, "release lock", trace.WithSpanKind(trace.SpanKindClient), trace.WithLinks(trace.Link{SpanContext: c.grant}))
	return func(err error) { endSpan(span, err) }
}

func endSpan(span trace.Span, err error) {
	if err != nil {
		span.SetStatus(codes.Error, err.Error())
	}
	span.End()
}

// Traceparent is for the environment of the child; "": nothing is to be changed there.
func (c *Command) Traceparent() string {
	if !c.grant.IsValid() {
		return ""
	}
	return traceparent(trace.ContextWithSpanContext(c.ctx, c.grant))
}

// Close delivers the spans, for at most 1 s.
func (c *Command) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), deliverWithin)
	defer cancel()
	_ = c.t.Close(ctx) // the command has done its work without it
}

// traceparent of the span in ctx, as W3C has it; "" without one.
func traceparent(ctx context.Context) string {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier["traceparent"]
}
