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
	"github.com/lockgw/lockgw/backend/instrument"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/memory"
	"github.com/lockgw/lockgw/backend/tabletest"
)

// recorded is an instrumented store with what it has recorded.
type recorded struct {
	ledger.Table
	t      *testing.T
	reader *metric.ManualReader
	spans  *tracetest.InMemoryExporter
	tracer *trace.TracerProvider
}

func record(t *testing.T, of ledger.Table) *recorded {
	t.Helper()
	r := &recorded{t: t, reader: metric.NewManualReader(), spans: tracetest.NewInMemoryExporter()}
	r.tracer = trace.NewTracerProvider(trace.WithSyncer(r.spans))
	var err error
	if r.Table, err = instrument.New(of, metric.NewMeterProvider(metric.WithReader(r.reader)), r.tracer); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestTable(t *testing.T) {
	rows := memory.NewRows()
	tabletest.Run(t, func(t *testing.T, node string) ledger.Table {
		return record(t, memory.OpenTable(rows, node)).Table
	})
}

// failing answers every request with an error.
type failing struct {
	ledger.Table
	err error
}

func failed(err error) *failing {
	return &failing{memory.OpenTable(memory.NewRows(), "a"), err}
}

func (f *failing) Swap(context.Context, ledger.Swap) (ledger.Reply, error) {
	return ledger.Reply{}, f.err
}
func (f *failing) Join(context.Context, string, ledger.Entry, backend.Fence) (ledger.Reply, error) {
	return ledger.Reply{}, f.err
}
func (f *failing) Look(context.Context, string) (ledger.Reply, error) {
	return ledger.Reply{}, f.err
}
func (f *failing) Renew(context.Context, []ledger.Renewal) ([]error, error) { return nil, f.err }
func (f *failing) Send(context.Context, []ledger.Addressed) error           { return f.err }
func (f *failing) List(context.Context, string, string, int) ([]ledger.Named, string, error) {
	return nil, "", f.err
}
func (f *failing) Ping(context.Context) error { return f.err }

// verbs are all that ask a store, by the name of their operation.
func (r *recorded) verbs() map[string]func(context.Context) error {
	const name = "secret-name"
	return map[string]func(context.Context) error{
		"swap": func(ctx context.Context) error { _, err := r.Swap(ctx, ledger.Swap{Name: name}); return err },
		"join": func(ctx context.Context) error { _, err := r.Join(ctx, name, ledger.Entry{Node: "a"}, 0); return err },
		"look": func(ctx context.Context) error { _, err := r.Look(ctx, name); return err },
		"renew": func(ctx context.Context) error {
			_, err := r.Renew(ctx, []ledger.Renewal{{Name: name}})
			return err
		},
		"send": func(ctx context.Context) error { return r.Send(ctx, []ledger.Addressed{{Name: name}}) },
		"list": func(ctx context.Context) error { _, _, err := r.List(ctx, "", "", 1); return err },
		"ping": func(ctx context.Context) error { return r.Ping(ctx) },
	}
}

// Every verb is measured under its own name, its error is passed on and counted by
// what it means, and no metric has the lock's name.
func TestEveryVerb(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want string // error.type; "" is none
	}{
		{fmt.Errorf("%w: gone", backend.ErrUnavailable), "unavailable"},
		{backend.ErrRefused, "refused"},
		{backend.ErrUnreachable, "unreachable"},
		{backend.ErrInvalid, "invalid"},
		{errors.New("defect"), "other"},
		{backend.ErrNotHeld, ""},
		{backend.ErrFence, ""},
		{errors.ErrUnsupported, ""},
		{nil, ""},
	} {
		r := record(t, failed(tt.err))
		for op, call := range r.verbs() {
			if err := call(t.Context()); !errors.Is(err, tt.err) {
				t.Errorf("%s: err = %v, want %v", op, err, tt.err)
			}
			if got := r.count("lockgw.backend.request.duration", "operation", op, "backend", "memory", "failed", fmt.Sprint(tt.want != "")); got != 1 {
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
	r := record(t, failed(backend.ErrUnavailable))
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
