package run

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/lockgw/lockgw/cmd/lockgw/e2e"
)

// The command under run goes on with the trace of its lock, if that is traced.
func TestTelemetryOfRun(t *testing.T) {
	r, path := e2e.NewReceiver(t), e2e.StartGateway(t)
	run := func(env ...string) string {
		t.Helper()
		cmd := exec.Command("lockgw", "run", e2e.Canary, "--", "sh", "-c", "echo $TRACEPARENT")
		cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "OTEL_") || strings.HasPrefix(v, "TRACE") }),
			"GORACE=atexit_sleep_ms=0", "LOCKGW_SOCKET="+path)
		cmd.Env = append(cmd.Env, env...)
		var stderr strings.Builder
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil || stderr.Len() > 0 {
			t.Fatalf("run: %v\n%s", err, stderr.String())
		}
		return strings.TrimSpace(string(out))
	}
	parent := "00-" + e2e.CallerTrace + "-" + e2e.CallerSpan + "-01"
	if got := run(); got != "" {
		t.Errorf("TRACEPARENT = %q where nothing is traced, want none", got)
	}
	if got := run("TRACEPARENT=" + parent); got != parent {
		t.Errorf("TRACEPARENT = %q, want it passed on: %q", got, parent)
	}
	got := run(append(r.Env(), "TRACEPARENT="+parent)...)
	acquire, release := r.Span(t, "acquire lock", 0), r.Span(t, "release lock", 0)
	if want := fmt.Sprintf("00-%s-%x-01", e2e.CallerTrace, acquire.SpanId); got != want {
		t.Errorf("TRACEPARENT = %q, want that of the acquire %q", got, want)
	}
	if fmt.Sprintf("%x", acquire.ParentSpanId) != e2e.CallerSpan || len(release.Links) != 1 || !bytes.Equal(release.Links[0].SpanId, acquire.SpanId) {
		t.Errorf("acquire below %x, release with links %v; want the caller's span, and a link to the acquire", acquire.ParentSpanId, release.Links)
	}
	if release.StartTimeUnixNano < acquire.EndTimeUnixNano {
		t.Error("the release begins before the acquire ends, want two short spans")
	}
	if got := run(r.Env()...); len(got) != len(parent) || strings.Contains(got, e2e.CallerTrace) {
		t.Errorf("TRACEPARENT = %q, want a trace of its own", got)
	}
	unreachable := []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1", "TRACEPARENT=" + parent}
	if got := run(unreachable...); !strings.Contains(got, e2e.CallerTrace) {
		t.Errorf("TRACEPARENT = %q without a collector, want it all the same", got)
	}
}
