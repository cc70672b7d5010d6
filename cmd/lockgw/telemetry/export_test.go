package telemetry

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http/httptest"
	"syscall"
	"testing"
)

// gone is a client that has hung up.
type gone struct{ *httptest.ResponseRecorder }

func (gone) Write([]byte) (int, error) { return 0, errors.Join(syscall.EPIPE) }

// A scraper that hangs up is not told of in the log.
func TestScraperHangsUp(t *testing.T) {
	var log bytes.Buffer
	m := open(t, Config{Log: slog.New(slog.NewTextHandler(&log, nil))})
	r := httptest.NewRequest("GET", "/metrics", nil)
	there := httptest.NewRecorder()
	m.Handler().ServeHTTP(there, r)
	if there.Code != 200 || there.Body.Len() == 0 {
		t.Errorf("a scraper got %d and %d bytes, want metrics", there.Code, there.Body.Len())
	}
	m.Handler().ServeHTTP(gone{httptest.NewRecorder()}, r)
	if log.Len() > 0 {
		t.Errorf("the log has %s, want nothing", &log)
	}
}
