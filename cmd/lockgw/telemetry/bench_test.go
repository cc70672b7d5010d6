package telemetry

import (
	"context"
	"log/slog"
	"testing"

	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/lockgw/lockgw/backend/instrument"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/memory"
	"github.com/lockgw/lockgw/session"
)

// What an acquire and its release cost over a store that costs nothing, which is the
// worst case: over a network it is lost in the round trip.
func BenchmarkAcquireRelease(b *testing.B) {
	off := func(*Telemetry) {}
	b.Run("none", func(b *testing.B) { acquireRelease(b, nil) })
	b.Run("metrics", func(b *testing.B) { acquireRelease(b, off) })
	b.Run("groups", func(b *testing.B) {
		acquireRelease(b, func(t *Telemetry) { t.cfg.Groups = Groups{{"nightly-*", "nightly"}, {"job-*", "jobs"}} })
	})
	b.Run("unsampled", func(b *testing.B) {
		acquireRelease(b, func(t *Telemetry) {
			t.tracers, t.tracing = trace.NewTracerProvider(trace.WithSampler(trace.NeverSample())), true
		})
	})
	b.Run("traced", func(b *testing.B) {
		acquireRelease(b, func(t *Telemetry) {
			tp := trace.NewTracerProvider(trace.WithBatcher(tracetest.NewNoopExporter()))
			t.tracers, t.tracing, t.closers = tp, true, append(t.closers, tp.Shutdown)
		})
	})
}

func acquireRelease(b *testing.B, change func(*Telemetry)) {
	b.Helper()
	var store ledger.Table = memory.OpenTable(memory.NewRows(), "a")
	cfg := session.Config{}
	if change != nil {
		t, err := Open(b.Context(), Config{Node: "a", Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			b.Fatal(err)
		}
		defer t.Close(context.Background())
		change(t)
		if cfg.Observer, err = t.Observer(); err != nil {
			b.Fatal(err)
		}
		if store, err = instrument.New(store, t.Meters(), t.Tracers()); err != nil {
			b.Fatal(err)
		}
	}
	m := session.New(store, cfg)
	defer m.Close(context.Background())
	s, _, err := m.Open(session.Options{Peer: session.NoPeer()})
	if err != nil {
		b.Fatal(err)
	}
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Acquire(ctx, "nightly", session.Acquire{}); err != nil {
			b.Fatal(err)
		}
		if _, err := s.Release(ctx, "nightly", 1, false, ""); err != nil {
			b.Fatal(err)
		}
	}
}
