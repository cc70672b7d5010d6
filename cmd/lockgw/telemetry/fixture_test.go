package telemetry

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.uber.org/goleak"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/breaker"
	"github.com/lockgw/lockgw/backend/instrument"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/memory"
	"github.com/lockgw/lockgw/session"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// measured is a Telemetry whose metrics can be read.
type measured struct {
	*Telemetry
	reader *metric.ManualReader
}

func open(t *testing.T, cfg Config) *measured {
	t.Helper()
	m := &measured{reader: metric.NewManualReader()}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	cfg.Node, cfg.Version, cfg.reader = "host-a", "1.2.3", m.reader
	var err error
	if m.Telemetry, err = Open(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := m.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return m
}

func (m *measured) observer(t *testing.T) session.Observer {
	t.Helper()
	o, err := m.Observer()
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func (m *measured) collect(t *testing.T) (all []metricdata.Metrics) {
	t.Helper()
	var rm metricdata.ResourceMetrics
	if err := m.reader.Collect(context.Background(), &rm); err != nil {
		t.Fatal(err)
	}
	for _, s := range rm.ScopeMetrics {
		all = append(all, s.Metrics...)
	}
	return all
}

// scraped are the names of what is served to Prometheus.
func (m *measured) scraped(t *testing.T) (names []string) {
	t.Helper()
	families, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		names = append(names, f.GetName())
	}
	return names
}

// scrape is what Prometheus reads.
func (m *measured) scrape(t *testing.T) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	return w.Body.String()
}

var groups = Groups{{"nightly-*", "nightly"}, {"shop/*", "shop"}}

// everything is a Telemetry in which each instrument has recorded something.
func everything(t *testing.T) *measured {
	t.Helper()
	m := open(t, Config{Groups: groups})
	o := m.observer(t)
	ctx := t.Context()
	o.Acquired(ctx, session.Acquired{Name: "nightly-1", Path: session.WakePush})
	o.Acquired(ctx, session.Acquired{Name: "x", Err: context.Canceled})
	o.Ended(session.HoldEnded{Name: "nightly-1", Lost: true, Reason: "expired"})
	o.Renewed(session.Renewed{Name: "nightly-1", Margin: time.Second, TTL: 3 * time.Second})
	store, err := instrument.New(silent{memory.OpenTable(memory.NewRows(), "a")}, m.Meters(), m.Tracers())
	if err != nil {
		t.Fatal(err)
	}
	_ = store.Ping(ctx)
	if err := m.Watch(sources()); err != nil {
		t.Fatal(err)
	}
	p, err := newPulse(m.Meters().Meter(scope), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	p.beat(ctx, time.Minute, time.Now())
	serve(t, m, http.MethodGet, "/v1/locks/secret")
	return m
}

// silent is a store that does not answer.
type silent struct{ ledger.Table }

func (silent) Ping(context.Context) error { return backend.ErrUnavailable }

func sources() Sources {
	return Sources{
		Stats:   func() session.Stats { return session.Stats{Sessions: 3, Holds: 2, Waiters: 1} },
		Journal: func() error { return errors.New("disk full") }, Backend: "memory",
		Breaker:  func() (breaker.State, uint64) { return breaker.Open, 7 },
		ProbeAge: func() time.Duration { return 1500 * time.Millisecond },
	}
}

// serve has an engine with the middleware answer a request.
func serve(t *testing.T, m *measured, method, path string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	around, err := m.HTTP()
	if err != nil {
		t.Fatal(err)
	}
	gin.SetMode(gin.ReleaseMode)
	e := gin.New()
	e.Use(around)
	answer := func(c *gin.Context) { c.String(http.StatusTeapot, "") }
	for _, route := range []string{"/v1/locks/:name", "/v1/locks/:name/hold", "/livez"} {
		e.Any(route, answer)
		e.Handle("BREW", route, answer)
	}
	w := httptest.NewRecorder()
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	e.ServeHTTP(w, r)
	return w
}
