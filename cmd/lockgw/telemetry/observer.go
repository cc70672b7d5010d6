package telemetry

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/session"
)

// observer counts and traces what the core tells. What it records with was made
// before, so that metrics alone cost no allocation.
type observer struct {
	groups  Groups
	labels  labels
	in      instruments
	tracing bool
	tracer  trace.Tracer
}

var _ session.Observer = (*observer)(nil)

// Observer is for session.Config.
func (t *Telemetry) Observer() (session.Observer, error) {
	in, err := newInstruments(t.meters.Meter(scope))
	if err != nil {
		return nil, err
	}
	o := &observer{
		groups: t.cfg.Groups, labels: newLabels(t.cfg.Groups), in: in, tracing: t.tracing, tracer: t.tracers.Tracer(scope),
	}
	o.begin()
	return o, nil
}

// begin has the counters start at 0. For one that begins at 1, Prometheus sees no
// increase, and the first loss would raise no alarm.
func (o *observer) begin() {
	for _, reason := range session.LossReasons() {
		for group := range max(1, len(o.labels.groups)) {
			o.in.lost.Add(context.Background(), 0, o.labels.ofLoss(reason, group)...)
		}
	}
	for _, w := range o.labels.wakes {
		o.in.wake.Add(context.Background(), 0, w.add...)
	}
}

var spanNames = map[session.Operation]string{session.OpAcquire: "acquire lock", session.OpRelease: "release lock"}

// Begin implements session.Observer, as do the others.
func (o *observer) Begin(ctx context.Context, op session.Operation) context.Context {
	if !o.tracing {
		return ctx
	}
	ctx, _ = o.tracer.Start(ctx, spanNames[op]) // Acquired and Given end it
	return ctx
}

func (o *observer) Detach(ctx context.Context) context.Context {
	if !o.tracing {
		return nil
	}
	sc := trace.SpanContextFromContext(ctx)
	if !sc.IsSampled() {
		return nil
	}
	return trace.ContextWithSpanContext(context.Background(), sc) // not ctx: that would keep the whole request
}

func (o *observer) Acquired(ctx context.Context, a session.Acquired) {
	out := outcomeOf(a)
	o.in.acquire.Record(ctx, a.Wait.Seconds(), o.labels.acquires[out][a.Mode.String()][o.groups.index(a.Name)]...)
	if a.Path != "" {
		w := o.labels.wakes[a.Path]
		o.in.wake.Add(ctx, 1, w.add...)
		o.in.delay.Record(ctx, a.Delay.Seconds(), w.record...)
	}
	if o.tracing {
		endAcquire(trace.SpanFromContext(ctx), out, a)
	}
}

func (o *observer) Given(ctx context.Context, g session.Given) {
	if !o.tracing {
		return
	}
	span := trace.SpanFromContext(ctx)
	span.SetAttributes(lockName.String(g.Name), attribute.Int("lockgw.count", g.Count))
	if g.Grant != nil {
		span.AddLink(trace.LinkFromContext(g.Grant))
	}
	if g.Err != nil {
		fail(span, g.Err)
	}
	span.End()
}

func (o *observer) Ended(h session.HoldEnded) {
	ctx, group := context.Background(), o.groups.index(h.Name)
	end := endReleased
	switch {
	case h.Lost:
		end = endLost
		o.in.lost.Add(ctx, 1, o.labels.ofLoss(h.Reason, group)...)
	case h.Reason != "":
		end = endSession
	}
	held := max(h.Held, 0) // one of the process before began by the wall clock, which may have been set back
	o.in.hold.Record(ctx, held.Seconds(), o.labels.ends[end][group]...)
	if end != endReleased && h.Grant != nil { // a release has a span of its own
		o.traceEnd(end, h)
	}
}

// traceEnd leaves a span that says what ended a hold whose acquire is traced. It is no
// part of that trace, which may be hours old.
func (o *observer) traceEnd(end holdEnd, h session.HoldEnded) {
	_, span := o.tracer.Start(context.Background(), "end hold", trace.WithLinks(trace.LinkFromContext(h.Grant)))
	span.SetAttributes(lockName.String(h.Name), lockFence.Int64(int64(h.Fence)), attribute.String("end", endNames[end]))
	if h.Lost {
		span.SetAttributes(attribute.String("reason", h.Reason))
		span.SetStatus(codes.Error, "lost: "+h.Reason)
	}
	span.End()
}

func (o *observer) Renewed(r session.Renewed) {
	ctx, out := context.Background(), renewConfirmed
	switch {
	case errors.Is(r.Err, backend.ErrNotHeld):
		out = renewNotHeld
	case r.Err != nil:
		out = renewFailed
	case r.Margin <= 0:
		out = renewLate
	}
	o.in.renew.Record(ctx, r.Took.Seconds(), o.labels.renewals[out]...)
	if r.Err == nil {
		left := max(r.Margin, 0)
		o.in.margin.Record(ctx, left.Seconds())
		o.in.marginRatio.Record(ctx, left.Seconds()/r.TTL.Seconds())
	}
}

const (
	lockName  = attribute.Key("lockgw.lock.name")
	lockFence = attribute.Key("lockgw.lock.fence")
)

func endAcquire(span trace.Span, out outcome, a session.Acquired) {
	if !span.IsRecording() {
		return
	}
	span.SetAttributes(lockName.String(a.Name), attribute.String("outcome", outcomeNames[out]), attribute.Int64("lockgw.wait_ms", a.Wait.Milliseconds()))
	if a.Path != "" {
		span.SetAttributes(lockFence.Int64(int64(a.Fence)), attribute.String("lockgw.owner", string(a.Owner)),
			attribute.String("lockgw.wake.path", string(a.Path)), attribute.Int("lockgw.queue.ahead", a.Ahead))
	}
	if out == outcomeError {
		fail(span, a.Err)
	}
	span.End()
}

func fail(span trace.Span, err error) {
	span.SetAttributes(attribute.String("error.type", string(session.CodeOf(err))))
	span.SetStatus(codes.Error, err.Error())
}

// instruments of what the core tells.
type instruments struct {
	acquire, delay, hold, renew, margin, marginRatio metric.Float64Histogram
	wake, lost                                       metric.Int64Counter
}

func newInstruments(m metric.Meter) (in instruments, err error) {
	histogram := func(to *metric.Float64Histogram, name, unit, help string, buckets ...float64) {
		if err == nil {
			*to, err = m.Float64Histogram(name, metric.WithUnit(unit), metric.WithDescription(help), metric.WithExplicitBucketBoundaries(buckets...))
		}
	}
	counter := func(to *metric.Int64Counter, name, unit, help string) {
		if err == nil {
			*to, err = m.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(help))
		}
	}
	histogram(&in.acquire, "lockgw.acquire.duration", "s", "Time from a request for a lock to its answer.",
		.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300)
	histogram(&in.hold, "lockgw.hold.duration", "s", "How long locks were held.",
		.001, .01, .1, 1, 5, 10, 30, 60, 300, 900, 3600, 14400, 86400)
	histogram(&in.renew, "lockgw.renew.duration", "s", "How long the store took to answer a renewal.",
		.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5)
	histogram(&in.margin, "lockgw.renew.margin", "s", "What was left of a lease when its renewal was confirmed. At 0 it was lost.",
		.1, .25, .5, 1, 2.5, 5, 7.5, 10, 15, 20, 30, 60, 300, 3600)
	histogram(&in.marginRatio, "lockgw.renew.margin.ratio", "", "The same as a share of the lease: about 0.66 when all is well.",
		.05, .1, .25, .4, .5, .6, .65, .7, .8, .9, 1)
	histogram(&in.delay, "lockgw.wake.delay", "s", "Time from the decision to grant a lock until its caller was told.",
		.00001, .00005, .0001, .0005, .001, .005, .01, .05, .1, .5, 1)
	counter(&in.wake, "lockgw.wake", "{grant}", "Grants, by what led to them.")
	counter(&in.lost, "lockgw.lock.lost", "{lock}", "Holds that were lost.")
	return in, err
}
