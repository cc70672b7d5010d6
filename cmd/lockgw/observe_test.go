package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

const (
	callerTrace = "0af7651916cd43dd8448eb211c80319c"
	callerSpan  = "b7ad6b7169203331"
	canary      = "canary-of-a-name"
)

// receiver takes what gateways and commands export, as a collector does.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex          // guards the field below
	bodies map[string][][]byte // by path
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{bodies: map[string][][]byte{}}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.bodies[req.URL.Path] = append(r.bodies[req.URL.Path], body)
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	t.Cleanup(r.Close)
	return r
}

// env makes a program export here, at once.
func (r *receiver) env() []string {
	return []string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=" + r.URL, "OTEL_LOGS_EXPORTER=otlp",
		"OTEL_BSP_SCHEDULE_DELAY=50", "OTEL_BLRP_SCHEDULE_DELAY=50", "OTEL_METRIC_EXPORT_INTERVAL=100",
	}
}

func (r *receiver) all(path string) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return bytes.Join(r.bodies[path], nil)
}

// span waits for the n-th span with that name.
func (r *receiver) span(t *testing.T, name string, n int) *otlp.Span {
	t.Helper()
	var found []*otlp.Span
	until(func() bool {
		found = nil
		for _, s := range r.spans(t) {
			if s.Name == name {
				found = append(found, s)
			}
		}
		return len(found) > n
	})
	if len(found) <= n {
		t.Fatalf("%d spans %q have come, want more than %d", len(found), name, n)
	}
	return found[n]
}

func (r *receiver) spans(t *testing.T) (spans []*otlp.Span) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, body := range r.bodies["/v1/traces"] {
		var request collector.ExportTraceServiceRequest
		if err := proto.Unmarshal(body, &request); err != nil {
			t.Fatal(err)
		}
		for _, res := range request.ResourceSpans {
			for _, scope := range res.ScopeSpans {
				spans = append(spans, scope.Spans...)
			}
		}
	}
	return spans
}

// unixClient speaks HTTP to the gateway in dir.
func unixClient(t *testing.T, dir string) *http.Client {
	t.Helper()
	tr := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(dir, httpSocket))
	}}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: patience}
}

func call(t *testing.T, c *http.Client, method, path, token string) (answer map[string]any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://lockgw"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("traceparent", "00-"+callerTrace+"-"+callerSpan+"-01")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil || resp.StatusCode >= 300 {
		t.Fatalf("%s %s: status %d, %v, %v", method, path, resp.StatusCode, answer, err)
	}
	return answer
}

// A request that is traced goes on being so down to the store, and nothing that leaves
// the gateway has its token; metrics do not even have the lock's name.
func TestTelemetryOfGateway(t *testing.T) {
	r, s := newReceiver(t), newSystemd(t)
	gateway := s.start(r.env())
	s.await("READY=1")
	c := unixClient(t, s.dir)
	token, _ := call(t, c, "PUT", "/v1/locks/"+canary, "")["token"].(string)
	call(t, c, "DELETE", "/v1/locks/"+canary, token)

	put := r.span(t, "PUT /v1/locks/:name", 0)
	if got := fmt.Sprintf("%x-%x", put.TraceId, put.ParentSpanId); got != callerTrace+"-"+callerSpan {
		t.Errorf("the request's trace and parent = %s, want those of the caller", got)
	}
	acquire := r.span(t, "acquire lock", 0)
	wantBelow(t, acquire, put)
	wantBelow(t, r.span(t, "backend acquire", 0), acquire)
	release := r.span(t, "release lock", 0)
	wantBelow(t, release, r.span(t, "DELETE /v1/locks/:name", 0))
	wantBelow(t, r.span(t, "backend release", 0), release)
	if len(release.Links) != 1 || !bytes.Equal(release.Links[0].SpanId, acquire.SpanId) {
		t.Errorf("links of the release = %v, want one to the acquire", release.Links)
	}
	until(func() bool { return bytes.Contains(r.all("/v1/metrics"), []byte("lockgw.acquire.duration")) })
	s.stop(gateway)
	if !bytes.Contains(r.all("/v1/metrics"), []byte("lockgw.acquire.duration")) || !bytes.Contains(r.all("/v1/logs"), []byte("serving")) {
		t.Error("no metrics or no logs have come")
	}
	if bytes.Contains(r.all("/v1/metrics"), []byte(canary)) {
		t.Error("the metrics have a lock's name")
	}
	for _, path := range []string{"/v1/metrics", "/v1/traces", "/v1/logs"} {
		if token == "" || bytes.Contains(r.all(path), []byte(token)) {
			t.Errorf("what was sent to %s has the token %q", path, token)
		}
	}
}

func wantBelow(t *testing.T, s, parent *otlp.Span) {
	t.Helper()
	if !bytes.Equal(s.ParentSpanId, parent.SpanId) || !bytes.Equal(s.TraceId, parent.TraceId) {
		t.Errorf("%q is below %x, want it below %q, %x", s.Name, s.ParentSpanId, parent.Name, parent.SpanId)
	}
}

// curl, after real traffic: the metrics are there, no lock's name is, and probes are
// not counted.
func TestMetricsByCurl(t *testing.T) {
	s := newSystemd(t)
	gateway := s.start(nil)
	s.await("READY=1")
	c := unixClient(t, s.dir)
	token, _ := call(t, c, "PUT", "/v1/locks/"+canary, "")["token"].(string)
	call(t, c, "GET", "/livez", "")
	out, err := exec.Command("curl", "-fsS", "--unix-socket", filepath.Join(s.dir, httpSocket), "http://lockgw/metrics").Output()
	if err != nil {
		t.Fatalf("curl: %v", err)
	}
	for _, want := range []string{
		"\nlockgw_locks_held 1\n", "\nlockgw_session_count 1\n", "\nlockgw_breaker_state{backend=\"memory\"} 0\n",
		"\nlockgw_acquire_duration_seconds_count{mode=\"exclusive\",outcome=\"acquired\"} 1\n", "\nlockgw_wake_total{path=\"answer\"} 1\n",
		"\nlockgw_lock_lost_total{reason=\"expired\"} 0\n", "\nlockgw_build_info{", "\nprocess_resident_memory_bytes ", "\ngo_goroutine_count ",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the metrics have no %q:\n%s", want, out)
		}
	}
	for _, not := range []string{canary, "livez", "uuid", token} {
		if strings.Contains(string(out), not) {
			t.Errorf("the metrics have %q", not)
		}
	}
	s.stop(gateway)
}

// The command under run goes on with the trace of its lock, if that is traced.
func TestTelemetryOfRun(t *testing.T) {
	r, s := newReceiver(t), newSystemd(t)
	gateway := s.start(nil)
	s.await("READY=1")
	run := func(env ...string) string {
		t.Helper()
		cmd := exec.Command("lockgw", "run", canary, "--", "sh", "-c", "echo $TRACEPARENT")
		cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "OTEL_") || strings.HasPrefix(v, "TRACE") }),
			"GORACE=atexit_sleep_ms=0", "LOCKGW_SOCKET_DIR="+s.dir)
		cmd.Env = append(cmd.Env, env...)
		var stderr strings.Builder
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil || stderr.Len() > 0 {
			t.Fatalf("run: %v\n%s", err, stderr.String())
		}
		return strings.TrimSpace(string(out))
	}
	parent := "00-" + callerTrace + "-" + callerSpan + "-01"
	if got := run(); got != "" {
		t.Errorf("TRACEPARENT = %q where nothing is traced, want none", got)
	}
	if got := run("TRACEPARENT=" + parent); got != parent {
		t.Errorf("TRACEPARENT = %q, want it passed on: %q", got, parent)
	}
	got := run(append(r.env(), "TRACEPARENT="+parent)...)
	acquire, release := r.span(t, "acquire lock", 0), r.span(t, "release lock", 0)
	if want := fmt.Sprintf("00-%s-%x-01", callerTrace, acquire.SpanId); got != want {
		t.Errorf("TRACEPARENT = %q, want that of the acquire %q", got, want)
	}
	if fmt.Sprintf("%x", acquire.ParentSpanId) != callerSpan || len(release.Links) != 1 || !bytes.Equal(release.Links[0].SpanId, acquire.SpanId) {
		t.Errorf("acquire below %x, release with links %v; want the caller's span, and a link to the acquire", acquire.ParentSpanId, release.Links)
	}
	if release.StartTimeUnixNano < acquire.EndTimeUnixNano {
		t.Error("the release begins before the acquire ends, want two short spans")
	}
	if got := run(r.env()...); len(got) != len(parent) || strings.Contains(got, callerTrace) {
		t.Errorf("TRACEPARENT = %q, want a trace of its own", got)
	}
	unreachable := []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1", "TRACEPARENT=" + parent}
	if got := run(unreachable...); !strings.Contains(got, callerTrace) {
		t.Errorf("TRACEPARENT = %q without a collector, want it all the same", got)
	}
	s.stop(gateway)
}
