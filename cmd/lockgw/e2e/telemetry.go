package e2e

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

const (
	CallerTrace = "0af7651916cd43dd8448eb211c80319c"
	CallerSpan  = "b7ad6b7169203331"
	Canary      = "canary-of-a-name"
)

// Receiver takes what gateways and commands export, as a collector does.
type Receiver struct {
	*httptest.Server
	mu     sync.Mutex          // guards the field below
	bodies map[string][][]byte // by path
}

// NewReceiver starts one.
func NewReceiver(t *testing.T) *Receiver {
	t.Helper()
	r := &Receiver{bodies: map[string][][]byte{}}
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

// Env is the environment by which a program exports here, without delay.
func (r *Receiver) Env() []string {
	return []string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=" + r.URL, "OTEL_LOGS_EXPORTER=otlp",
		"OTEL_BSP_SCHEDULE_DELAY=50", "OTEL_BLRP_SCHEDULE_DELAY=50", "OTEL_METRIC_EXPORT_INTERVAL=100",
	}
}

// All is what was sent to path.
func (r *Receiver) All(path string) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return bytes.Join(r.bodies[path], nil)
}

// Span waits for the n-th span with that name.
func (r *Receiver) Span(t *testing.T, name string, n int) *otlp.Span {
	t.Helper()
	var found []*otlp.Span
	Until(func() bool {
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

func (r *Receiver) spans(t *testing.T) (spans []*otlp.Span) {
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
