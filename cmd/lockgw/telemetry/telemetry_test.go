package telemetry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/session"
)

// wantLines checks that what is served has these series.
func wantLines(t *testing.T, m *measured, lines ...string) {
	t.Helper()
	text := m.scrape(t)
	for _, line := range lines {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("the metrics have no line\n%s\nbut\n%s", line, text)
		}
	}
}

func TestSources(t *testing.T) {
	m := open(t, Config{})
	if err := m.Watch(sources()); err != nil {
		t.Fatal(err)
	}
	wantLines(t, m, "lockgw_locks_held 2", "lockgw_waiters 1", "lockgw_session_count 3", "lockgw_journal_failing 1",
		`lockgw_breaker_state{backend="memory"} 2`, `lockgw_breaker_opened_total{backend="memory"} 7`,
		`lockgw_pubsub_probe_age_seconds{backend="memory"} 1.5`)
	text := m.scrape(t)
	for _, want := range []string{`version="1.2.3"`, `goversion="go1.`, `service_instance_id="host-a"`, "process_resident_memory_bytes", "go_goroutine_count"} {
		if !strings.Contains(text, want) {
			t.Errorf("the metrics have no %s", want)
		}
	}
}

func TestOutcomes(t *testing.T) {
	code := func(c session.Code) error { return &session.Error{Code: c} }
	tests := []struct {
		a    session.Acquired
		want string
	}{
		{session.Acquired{}, "acquired"},
		{session.Acquired{Reentered: true}, "reentered"},
		{session.Acquired{Err: code(session.CodeLocked)}, "locked"},
		{session.Acquired{Err: code(session.CodeWaitTimeout)}, "timeout"},
		{session.Acquired{Err: fmt.Errorf("x: %w", context.Canceled)}, "cancelled"},
		{session.Acquired{Err: code(session.CodeSessionEnded)}, "cancelled"},
		{session.Acquired{Err: code(session.CodeDraining)}, "cancelled"},
		{session.Acquired{Err: code(session.CodeTooManyWaiters)}, "refused"},
		{session.Acquired{Err: code(session.CodeUnavailable)}, "error"},
		{session.Acquired{Err: errors.New("defect")}, "error"},
	}
	for _, tt := range tests {
		m := open(t, Config{})
		m.observer(t).Acquired(t.Context(), tt.a)
		wantLines(t, m, `lockgw_acquire_duration_seconds_count{mode="exclusive",outcome="`+tt.want+`"} 1`)
	}
}

// Metrics alone cost a hold no allocation.
func TestNoAllocation(t *testing.T) {
	o := open(t, Config{Groups: groups}).observer(t)
	ctx := t.Context()
	n := testing.AllocsPerRun(1000, func() {
		within := o.Begin(ctx, session.OpAcquire)
		grant := o.Detach(within)
		o.Acquired(within, session.Acquired{Name: "nightly-1", Path: session.WakePush})
		o.Given(ctx, session.Given{Grant: grant})
		o.Ended(session.HoldEnded{Name: "nightly-1"})
		o.Renewed(session.Renewed{Name: "nightly-1", TTL: time.Second})
	})
	if n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

func TestModes(t *testing.T) {
	m := open(t, Config{})
	o := m.observer(t)
	o.Acquired(t.Context(), session.Acquired{Mode: backend.Shared})
	o.Acquired(t.Context(), session.Acquired{Mode: 3})
	wantLines(t, m, `lockgw_acquire_duration_seconds_count{mode="shared",outcome="acquired"} 1`,
		`lockgw_acquire_duration_seconds_count{mode="semaphore",outcome="acquired"} 1`)
}

// A name is counted in the first group that matches, and is itself nowhere.
func TestGroups(t *testing.T) {
	m := open(t, Config{Groups: Groups{{"nightly-*", "nightly"}, {"n*", "late"}}})
	o := m.observer(t)
	for _, name := range []string{"nightly-canary", "nobody-canary", "canary"} {
		o.Acquired(t.Context(), session.Acquired{Name: name, Path: session.WakeLocal})
		o.Ended(session.HoldEnded{Name: name, Lost: true, Reason: "expired"})
		o.Renewed(session.Renewed{Name: name, TTL: time.Second, Err: backend.ErrUnavailable})
	}
	for _, group := range []string{"nightly", "late", "other"} {
		wantLines(t, m, `lockgw_acquire_duration_seconds_count{lock_group="`+group+`",mode="exclusive",outcome="acquired"} 1`,
			`lockgw_lock_lost_total{lock_group="`+group+`",reason="expired"} 1`,
			`lockgw_hold_duration_seconds_count{end="lost",lock_group="`+group+`"} 1`)
	}
	if text := m.scrape(t); strings.Contains(text, "canary") {
		t.Errorf("the metrics have a lock's name:\n%s", text)
	}
}

func TestHolds(t *testing.T) {
	m := open(t, Config{})
	o := m.observer(t)
	o.Ended(session.HoldEnded{Held: 2 * time.Second})
	o.Ended(session.HoldEnded{Reason: "its client is gone"})
	o.Ended(session.HoldEnded{Lost: true, Reason: "gone"})
	wantLines(t, m, `lockgw_hold_duration_seconds_sum{end="released"} 2`, `lockgw_hold_duration_seconds_count{end="session_end"} 1`,
		`lockgw_hold_duration_seconds_count{end="lost"} 1`, `lockgw_lock_lost_total{reason="gone"} 1`)
	if strings.Contains(m.scrape(t), "client is gone") {
		t.Error("the reason of a session's end, any text, is in the metrics")
	}
}

// A hold that was resumed after the clock had been set back takes nothing from the sum, of which
// Prometheus would believe that it began anew.
func TestHoldAfterClockSetBack(t *testing.T) {
	m := open(t, Config{})
	o := m.observer(t)
	o.Ended(session.HoldEnded{Held: time.Minute})
	o.Ended(session.HoldEnded{Held: -time.Hour})
	wantLines(t, m, `lockgw_hold_duration_seconds_sum{end="released"} 60`, `lockgw_hold_duration_seconds_count{end="released"} 2`)
}

// Prometheus sees an increase only from a value that was there before.
func TestLossesBeginAtZero(t *testing.T) {
	m := open(t, Config{Groups: groups})
	m.observer(t)
	for _, reason := range []string{"broken", "expired", "gone", "max_hold", "session_ended"} {
		wantLines(t, m, `lockgw_lock_lost_total{lock_group="nightly",reason="`+reason+`"} 0`, `lockgw_lock_lost_total{lock_group="other",reason="`+reason+`"} 0`)
	}
}

func TestRenewals(t *testing.T) {
	m := open(t, Config{})
	o := m.observer(t)
	o.Renewed(session.Renewed{TTL: 30 * time.Second, Margin: 21 * time.Second, Took: time.Second})
	o.Renewed(session.Renewed{TTL: 30 * time.Second, Margin: -time.Second})
	o.Renewed(session.Renewed{TTL: 30 * time.Second, Margin: 5 * time.Second, Err: backend.ErrUnavailable})
	o.Renewed(session.Renewed{TTL: 30 * time.Second, Margin: 5 * time.Second, Err: fmt.Errorf("x: %w", backend.ErrNotHeld)})
	wantLines(t, m, `lockgw_renew_duration_seconds_sum{outcome="confirmed"} 1`, `lockgw_renew_duration_seconds_count{outcome="late"} 1`,
		`lockgw_renew_duration_seconds_count{outcome="failed"} 1`, `lockgw_renew_duration_seconds_count{outcome="not_held"} 1`,
		"lockgw_renew_margin_seconds_sum 21", "lockgw_renew_margin_seconds_count 2", "lockgw_renew_margin_ratio_sum 0.7")
}

func TestWakes(t *testing.T) {
	m := open(t, Config{})
	o := m.observer(t)
	for _, path := range []session.WakePath{session.WakeAnswer, session.WakeLocal, session.WakePush, session.WakePoll} {
		o.Acquired(t.Context(), session.Acquired{Path: path, Delay: time.Second})
		wantLines(t, m, `lockgw_wake_total{path="`+string(path)+`"} 1`, `lockgw_wake_delay_seconds_sum{path="`+string(path)+`"} 1`)
	}
}

func TestPulse(t *testing.T) {
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	tests := []struct {
		name       string
		boot, wall time.Duration // since the last beat
		want       []string
		logged     string // "": nothing
	}{
		{"on time", 500 * time.Millisecond, 500 * time.Millisecond, nil, ""},
		{"a little late", 590 * time.Millisecond, 590 * time.Millisecond, nil, ""},
		{"late", 1400 * time.Millisecond, 1400 * time.Millisecond, []string{"lockgw_pause_seconds_sum 0.9", "lockgw_pause_seconds_count 1"}, ""},
		{"asleep", 10500 * time.Millisecond, 10500 * time.Millisecond, []string{"lockgw_pause_seconds_sum 10", "lockgw_pause_seconds_count 1"}, "did not run: the machine slept, or the process was stopped or starved\" for=10s"},
		{"set forward", 500 * time.Millisecond, time.Hour, []string{`lockgw_clock_jump_total{direction="forward"} 1`}, "by=59m59.5s"},
		{"set back", 500 * time.Millisecond, -time.Hour, []string{`lockgw_clock_jump_total{direction="back"} 1`}, "by=-1h0m0.5s"},
	}
	for _, tt := range tests {
		m := open(t, Config{})
		var log strings.Builder
		p, err := newPulse(m.Meters().Meter(scope), slog.New(slog.NewTextHandler(&log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		p.boot, p.wall = time.Hour, noon
		p.beat(t.Context(), time.Hour+tt.boot, noon.Add(tt.wall))
		if said := log.String(); (said == "") != (tt.logged == "") || !strings.Contains(said, tt.logged) || strings.Count(said, "\n") > 1 {
			t.Errorf("%s: log = %q, want %q", tt.name, said, tt.logged)
		}
		wantLines(t, m, tt.want...)
		found := []string{}
		for line := range strings.Lines(m.scrape(t)) {
			noteworthy := strings.HasPrefix(line, "lockgw_pause_seconds_sum") || strings.HasPrefix(line, "lockgw_pause_seconds_count") || strings.HasPrefix(line, "lockgw_clock_jump_total")
			if line = strings.TrimSpace(line); noteworthy && !strings.HasSuffix(line, " 0") {
				found = append(found, line)
			}
		}
		if strings.Join(found, "\n") != strings.Join(tt.want, "\n") {
			t.Errorf("%s: %q, want %q", tt.name, found, tt.want)
		}
	}
}

// What a client may choose does not become an attribute.
func TestHTTPLabels(t *testing.T) {
	m := open(t, Config{})
	serve(t, m, http.MethodGet, "/v1/locks/canary", "Host", "canary", "User-Agent", "canary")
	serve(t, m, "BREW", "/v1/locks/canary")
	serve(t, m, http.MethodGet, "/v1/locks/canary/hold")
	serve(t, m, http.MethodGet, "/livez")
	serve(t, m, http.MethodGet, "/canary")
	const name = "http_server_request_duration_seconds_count"
	wantLines(t, m, name+`{http_request_method="GET",http_response_status_code="418",http_route="/v1/locks/:name"} 1`,
		name+`{http_request_method="_OTHER",http_response_status_code="418",http_route="/v1/locks/:name"} 1`)
	text := m.scrape(t)
	if strings.Contains(text, "canary") {
		t.Errorf("the metrics have what a client has sent:\n%s", text)
	}
	if n := strings.Count(text, "\n"+name); n != 2 {
		t.Errorf("%d series, want 2: neither streams nor probes are measured", n)
	}
}

// A request that is not answered because its client has hung up does not count as one that was.
func TestHTTPHangUp(t *testing.T) {
	m := open(t, Config{})
	spans := m.trace(t)
	around, err := m.HTTP()
	if err != nil {
		t.Fatal(err)
	}
	e := gin.New()
	e.Use(around)
	e.PUT("/v1/locks/:name", func(*gin.Context) { panic(http.ErrAbortHandler) })
	func() {
		defer func() { _ = recover() }()
		e.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPut, "/v1/locks/a", nil))
	}()
	wantLines(t, m, `http_server_request_duration_seconds_count{http_request_method="PUT",http_response_status_code="499",http_route="/v1/locks/:name"} 1`)
	if n := len(spans.GetSpans()); n != 1 {
		t.Errorf("%d spans have ended, want 1", n)
	}
}

// trace makes m trace into memory.
func (m *measured) trace(t *testing.T) *tracetest.InMemoryExporter {
	t.Helper()
	spans := tracetest.NewInMemoryExporter()
	m.tracers, m.tracing = trace.NewTracerProvider(trace.WithSyncer(spans)), true
	return spans
}

const remote = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

func TestHTTPTrace(t *testing.T) {
	m := open(t, Config{})
	if w := serve(t, m, http.MethodGet, "/v1/locks/a", "traceparent", remote); w.Header().Get("Traceresponse") != "" {
		t.Error("an answer has a Traceresponse though nothing is traced")
	}
	spans := m.trace(t)
	w := serve(t, m, http.MethodGet, "/v1/locks/a", "traceparent", remote)
	got := spans.GetSpans()
	if len(got) != 1 {
		t.Fatalf("%d spans, want 1", len(got))
	}
	s := got[0]
	if s.Name != "GET /v1/locks/:name" || s.Parent.SpanID().String() != "b7ad6b7169203331" || s.SpanContext.TraceID().String() != "0af7651916cd43dd8448eb211c80319c" {
		t.Errorf("span %q of trace %s below %s, want it to go on from traceparent", s.Name, s.SpanContext.TraceID(), s.Parent.SpanID())
	}
	want := "00-0af7651916cd43dd8448eb211c80319c-" + s.SpanContext.SpanID().String() + "-01"
	if got := w.Header().Get("Traceresponse"); got != want {
		t.Errorf("Traceresponse = %q, want %q", got, want)
	}
	spans.Reset()
	serve(t, m, http.MethodGet, "/v1/locks/a/hold", "traceparent", remote)
	if n := len(spans.GetSpans()); n != 0 {
		t.Errorf("%d spans of a stream, want none: it lasts as long as the hold", n)
	}
}

// The release of a hold is linked to its acquire, and so is its loss; none of them is
// a span of the whole hold.
func TestHoldTrace(t *testing.T) {
	m := open(t, Config{})
	spans := m.trace(t)
	o := m.observer(t)
	ctx := o.Begin(t.Context(), session.OpAcquire)
	grant := o.Detach(ctx)
	o.Acquired(ctx, session.Acquired{Name: "x", Path: session.WakePush, Fence: 7})
	o.Given(o.Begin(t.Context(), session.OpRelease), session.Given{Name: "x", Grant: grant})
	o.Ended(session.HoldEnded{Name: "x", Grant: grant})
	o.Ended(session.HoldEnded{Name: "x", Grant: grant, Lost: true, Reason: "expired"})
	got := spans.GetSpans()
	names := []string{}
	for _, s := range got {
		names = append(names, s.Name)
	}
	if want := "[acquire lock release lock end hold]"; fmt.Sprint(names) != want {
		t.Fatalf("spans = %v, want %s", names, want)
	}
	for _, s := range got[1:] {
		if len(s.Links) != 1 || s.Links[0].SpanContext.SpanID() != got[0].SpanContext.SpanID() {
			t.Errorf("%s: links = %v, want one to the acquire", s.Name, s.Links)
		}
	}
	if grant.Value(struct{}{}) != nil || grant.Done() != nil {
		t.Error("what stands for the acquire ends with its request")
	}
}

// A failed acquire is an error only where somebody should look at it.
func TestAcquireTraceErrors(t *testing.T) {
	m := open(t, Config{})
	spans := m.trace(t)
	o := m.observer(t)
	for _, c := range []session.Code{session.CodeLocked, session.CodeUnavailable} {
		o.Acquired(o.Begin(t.Context(), session.OpAcquire), session.Acquired{Name: "x", Err: &session.Error{Code: c}})
	}
	got := spans.GetSpans()
	if len(got) != 2 || got[0].Status.Code.String() != "Unset" || got[1].Status.Code.String() != "Error" {
		t.Errorf("spans = %+v, want the second alone to be an error", got)
	}
}

// What OTEL_* asks for and cannot be is logged, and does not keep the gateway from
// its work.
func TestBadEnvironment(t *testing.T) {
	for _, signal := range []string{"TRACES", "METRICS", "LOGS"} {
		t.Setenv("OTEL_"+signal+"_EXPORTER", "nosuchexporter")
	}
	var log bytes.Buffer
	m := open(t, Config{Log: slog.New(slog.NewTextHandler(&log, nil))})
	for _, signal := range []string{"TRACES", "METRICS", "LOGS"} {
		if !strings.Contains(log.String(), "OTEL_"+signal+"_EXPORTER") {
			t.Errorf("nothing is logged of %s:\n%s", signal, log.String())
		}
	}
	if m.tracing || m.logs != nil {
		t.Error("something is exported, want nothing")
	}
}

func TestAsked(t *testing.T) {
	tests := []struct {
		env  []string // name, value
		want bool
	}{
		{nil, false},
		{[]string{"OTEL_SERVICE_NAME", "x"}, false},
		{[]string{"OTEL_TRACES_EXPORTER", "otlp"}, true},
		{[]string{"OTEL_METRICS_EXPORTER", "otlp"}, false},
		{[]string{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:4318"}, true},
		{[]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://localhost:4318"}, true},
		{[]string{"OTEL_TRACES_EXPORTER", "otlp", "OTEL_SDK_DISABLED", "true"}, false},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.env), func(t *testing.T) {
			for i := 0; i+1 < len(tt.env); i += 2 {
				t.Setenv(tt.env[i], tt.env[i+1])
			}
			if got := asked("TRACES"); got != tt.want {
				t.Errorf("asked = %v, want %v", got, tt.want)
			}
		})
	}
}

// A collector that is away is complained of once a minute, not with every batch.
func TestComplaints(t *testing.T) {
	var log bytes.Buffer
	open(t, Config{Log: slog.New(slog.NewTextHandler(&log, nil))})
	for range 100 {
		otel.Handle(errors.New("connection refused"))
	}
	if n := strings.Count(log.String(), "connection refused"); n != 1 {
		t.Errorf("%d lines, want 1", n)
	}
}

func TestLogHandler(t *testing.T) {
	m := open(t, Config{})
	m.trace(t)
	var out bytes.Buffer
	log := slog.New(m.LogHandler(slog.NewTextHandler(&out, nil))).With("a", 1)
	ctx, span := m.Tracers().Tracer("test").Start(t.Context(), "x")
	log.InfoContext(ctx, "traced")
	log.Info("plain")
	lines := strings.Split(out.String(), "\n")
	if want := "trace_id=" + span.SpanContext().TraceID().String() + " span_id=" + span.SpanContext().SpanID().String(); !strings.Contains(lines[0], want) {
		t.Errorf("line = %s, want %s in it", lines[0], want)
	}
	if strings.Contains(lines[1], "trace_id") {
		t.Errorf("line = %s, want no trace", lines[1])
	}
}
