package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	otlp "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/cmd/lockgw/e2e"
	"github.com/lockgw/lockgw/cmd/lockgw/e2e/process"
)

// unixClient speaks HTTP to the gateway in dir.
func unixClient(t *testing.T, dir string) *http.Client {
	t.Helper()
	c := process.Over(filepath.Join(dir, cli.HTTPSocket), 10)
	c.Timeout = e2e.Patience
	t.Cleanup(c.CloseIdleConnections)
	return c
}

func call(t *testing.T, c *http.Client, method, path, token string) (answer map[string]any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://lockgw"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("traceparent", "00-"+e2e.CallerTrace+"-"+e2e.CallerSpan+"-01")
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
	r, s := e2e.NewReceiver(t), newSystemd(t)
	gateway := s.start(r.Env())
	s.await("READY=1")
	c := unixClient(t, s.dir)
	token, _ := call(t, c, "PUT", "/v1/locks/"+e2e.Canary, "")["token"].(string)
	call(t, c, "DELETE", "/v1/locks/"+e2e.Canary, token)

	put := r.Span(t, "PUT /v1/locks/:name", 0)
	if got := fmt.Sprintf("%x-%x", put.TraceId, put.ParentSpanId); got != e2e.CallerTrace+"-"+e2e.CallerSpan {
		t.Errorf("the request's trace and parent = %s, want those of the caller", got)
	}
	acquire := r.Span(t, "acquire lock", 0)
	wantBelow(t, acquire, put)
	wantBelow(t, r.Span(t, "backend swap", 0), acquire)
	release := r.Span(t, "release lock", 0)
	wantBelow(t, release, r.Span(t, "DELETE /v1/locks/:name", 0))
	wantBelow(t, r.Span(t, "backend swap", 1), release)
	if len(release.Links) != 1 || !bytes.Equal(release.Links[0].SpanId, acquire.SpanId) {
		t.Errorf("links of the release = %v, want one to the acquire", release.Links)
	}
	e2e.Until(func() bool { return bytes.Contains(r.All("/v1/metrics"), []byte("lockgw.acquire.duration")) })
	s.stop(gateway)
	if !bytes.Contains(r.All("/v1/metrics"), []byte("lockgw.acquire.duration")) || !bytes.Contains(r.All("/v1/logs"), []byte("serving")) {
		t.Error("no metrics or no logs have come")
	}
	if bytes.Contains(r.All("/v1/metrics"), []byte(e2e.Canary)) {
		t.Error("the metrics have a lock's name")
	}
	for _, path := range []string{"/v1/metrics", "/v1/traces", "/v1/logs"} {
		if token == "" || bytes.Contains(r.All(path), []byte(token)) {
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
	token, _ := call(t, c, "PUT", "/v1/locks/"+e2e.Canary, "")["token"].(string)
	call(t, c, "GET", "/livez", "")
	out, err := exec.Command("curl", "-fsS", "--unix-socket", filepath.Join(s.dir, cli.HTTPSocket), "http://lockgw/metrics").Output()
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
	for _, not := range []string{e2e.Canary, "livez", "uuid", token} {
		if strings.Contains(string(out), not) {
			t.Errorf("the metrics have %q", not)
		}
	}
	s.stop(gateway)
}
