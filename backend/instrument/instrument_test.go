package instrument_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/backendtest"
	"github.com/lockgw/lockgw/backend/instrument"
	"github.com/lockgw/lockgw/backend/memory"
)

// recorded is an instrumented store with what it has recorded.
type recorded struct {
	backend.Backend
	t      *testing.T
	reader *metric.ManualReader
	spans  *tracetest.InMemoryExporter
	tracer *trace.TracerProvider
}

func record(t *testing.T, b backend.Backend) *recorded {
	t.Helper()
	r := &recorded{t: t, reader: metric.NewManualReader(), spans: tracetest.NewInMemoryExporter()}
	r.tracer = trace.NewTracerProvider(trace.WithSyncer(r.spans))
	var err error
	if r.Backend, err = instrument.New(b, metric.NewMeterProvider(metric.WithReader(r.reader)), r.tracer); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestBackend(t *testing.T) {
	backendtest.Run(t, func(*testing.T) backendtest.Store {
		s := memory.NewStore()
		return func(t *testing.T, n backend.Node) backend.Backend {
			b := record(t, memory.Open(s, n)).Backend
			t.Cleanup(func() { _ = b.Close() })
			return b
		}
	})
}

// failing answers every request with an error.
type failing struct {
	backend.Backend
	err error
}

func (f *failing) Acquire(context.Context, backend.Request) (backend.Answer, error) {
	return backend.Answer{}, f.err
}
func (f *failing) Confirm(context.Context, backend.Request) (backend.Answer, error) {
	return backend.Answer{}, f.err
}
func (f *failing) Extend(context.Context, backend.Request) (backend.Answer, error) {
	return backend.Answer{}, f.err
}
func (f *failing) Release(context.Context, backend.Request) (backend.Answer, error) {
	return backend.Answer{}, f.err
}
func (f *failing) Cancel(context.Context, backend.Request) error { return f.err }
func (f *failing) Reclaim(context.Context, backend.Request) (backend.Answer, error) {
	return backend.Answer{}, f.err
}
func (f *failing) Break(context.Context, backend.Request) (backend.Answer, error) {
	return backend.Answer{}, f.err
}
func (f *failing) Promote(context.Context, string) (backend.Answer, error) {
	return backend.Answer{}, f.err
}
func (f *failing) Describe(context.Context, backend.Request) error { return f.err }
func (f *failing) Renew(context.Context, []backend.Renewal) ([]error, error) {
	return nil, f.err
}
func (f *failing) Inspect(context.Context, string) (backend.Status, error) {
	return backend.Status{}, f.err
}
func (f *failing) List(context.Context, string, string, int) ([]backend.Status, string, error) {
	return nil, "", f.err
}
func (f *failing) Ping(context.Context) error { return f.err }

// verbs are all that ask a store, by the name of their operation.
func (r *recorded) verbs() map[string]func(context.Context) error {
	q := backend.Request{Name: "secret-name"}
	return map[string]func(context.Context) error{
		"acquire":  func(ctx context.Context) error { _, err := r.Acquire(ctx, q); return err },
		"confirm":  func(ctx context.Context) error { _, err := r.Confirm(ctx, q); return err },
		"extend":   func(ctx context.Context) error { _, err := r.Extend(ctx, q); return err },
		"release":  func(ctx context.Context) error { _, err := r.Release(ctx, q); return err },
		"cancel":   func(ctx context.Context) error { return r.Cancel(ctx, q) },
		"reclaim":  func(ctx context.Context) error { _, err := r.Reclaim(ctx, q); return err },
		"break":    func(ctx context.Context) error { _, err := r.Break(ctx, q); return err },
		"promote":  func(ctx context.Context) error { _, err := r.Promote(ctx, q.Name); return err },
		"describe": func(ctx context.Context) error { return r.Describe(ctx, q) },
		"renew": func(ctx context.Context) error {
			_, err := r.Renew(ctx, []backend.Renewal{{Name: q.Name}})
			return err
		},
		"inspect": func(ctx context.Context) error { _, err := r.Inspect(ctx, q.Name); return err },
		"list":    func(ctx context.Context) error { _, _, err := r.List(ctx, "", "", 1); return err },
		"ping":    func(ctx context.Context) error { return r.Ping(ctx) },
	}
}

// Every verb is measured under its own name, its error is passed on and counted by
// what it means, and no metric has the lock's name.
func TestEveryVerb(t *testing.T) {
	tests := []struct {
		err  error
		want string // error.type; "" is none
	}{
		{fmt.Errorf("%w: gone", backend.ErrUnavailable), "unavailable"},
		{backend.ErrRefused, "refused"},
		{backend.ErrUnreachable, "unreachable"},
		{backend.ErrStale, "stale"},
		{backend.ErrInvalid, "invalid"},
		{errors.New("defect"), "other"},
		{backend.ErrHeld, ""},
		{backend.ErrNotHeld, ""},
		{backend.ErrFence, ""},
		{errors.ErrUnsupported, ""},
		{nil, ""},
	}
	for _, tt := range tests {
		r := record(t, &failing{memory.Open(memory.NewStore(), backend.Node{ID: "a", Incarnation: 1}), tt.err})
		for op, call := range r.verbs() {
			if err := call(t.Context()); !errors.Is(err, tt.err) {
				t.Errorf("%s: err = %v, want %v", op, err, tt.err)
			}
			if got := r.count("lockgw.backend.request.duration", "operation", op, "failed", fmt.Sprint(tt.want != "")); got != 1 {
				t.Errorf("%s with %v: %d durations, want 1", op, tt.err, got)
			}
			want := 0
			if tt.want != "" {
				want = 1
			}
			if got := r.count("lockgw.backend.errors", "operation", op, "error.type", tt.want); got != want {
				t.Errorf("%s with %v: %d errors of type %q, want %d", op, tt.err, got, tt.want, want)
			}
		}
		if got := len(r.spans.GetSpans()); got != 0 {
			t.Errorf("%d spans without a caller that is traced, want none", got)
		}
	}
}

// On behalf of a caller that is traced, each request is a span below its own.
func TestSpans(t *testing.T) {
	r := record(t, &failing{memory.Open(memory.NewStore(), backend.Node{ID: "a", Incarnation: 1}), backend.ErrUnavailable})
	for op, call := range r.verbs() {
		r.spans.Reset()
		ctx, parent := r.tracer.Tracer("test").Start(t.Context(), "caller")
		_ = call(ctx)
		spans := r.spans.GetSpans()
		if len(spans) != 1 {
			t.Fatalf("%s: %d spans, want 1", op, len(spans))
		}
		s := spans[0]
		if s.Name != "backend "+op || s.Parent.SpanID() != parent.SpanContext().SpanID() || s.Status.Code != codes.Error {
			t.Errorf("%s: span %q below %s with status %v, want it named so, below the caller's, failed", op, s.Name, s.Parent.SpanID(), s.Status)
		}
	}
}

// count is how often the instrument has recorded with these attributes.
func (r *recorded) count(instrument string, attributes ...string) (n int) {
	r.t.Helper()
	var all metricdata.ResourceMetrics
	if err := r.reader.Collect(context.Background(), &all); err != nil {
		r.t.Fatal(err)
	}
	has := func(s attribute.Set) bool {
		for i := 0; i < len(attributes); i += 2 {
			if v, ok := s.Value(attribute.Key(attributes[i])); !ok || v.String() != attributes[i+1] {
				return false
			}
		}
		return !s.HasValue("lockgw.lock.name")
	}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if m.Name != instrument {
				continue
			}
			switch data := m.Data.(type) {
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					if has(p.Attributes) {
						n += int(p.Count)
					}
				}
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					if has(p.Attributes) {
						n += int(p.Value)
					}
				}
			}
		}
	}
	return n
}
