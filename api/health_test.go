package api

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/lockgw/lockgw/session"
)

func TestHealth(t *testing.T) {
	g := newGateway(t, session.Config{})
	tests := []struct{ path, want string }{
		{"/livez", `{"status":"alive"}`},
		{"/readyz", `{"status":"ready"}`},
		{"/readyz?verbose=false", `{"status":"ready"}`},
		{"/readyz?verbose", `{"status":"ready","checks":[{"name":"store","ok":true},{"name":"serving","ok":true},{"name":"journal","ok":true}]}`},
		{"/version", `"version":"1.2.3"`},
		{"/version", `"node":"host-a","store":"memory","shared":false,"reach":"this machine only","admin_token":false}`},
	}
	for _, tt := range tests {
		if a := g.must(200, request{method: "GET", path: tt.path}); !strings.Contains(a.body, tt.want) {
			t.Errorf("%s = %s, want %s", tt.path, a.body, tt.want)
		}
	}
}

// Only /readyz asks the store, and it names each check that failed.
func TestHealthWithoutStore(t *testing.T) {
	g := newGateway(t, session.Config{Timeout: 300 * time.Millisecond})
	g.store.down.Store(true)
	before := g.store.asked.Load()
	g.must(200, request{method: "GET", path: "/livez"})
	g.must(200, request{method: "GET", path: "/version"})
	if n := g.store.asked.Load() - before; n != 0 {
		t.Errorf("the store was asked %d times, want 0", n)
	}
	p := refused(t, g.do(request{method: "GET", path: "/readyz"}), 503, session.CodeUnavailable)
	if len(p.Checks) != 1 || p.Checks[0].Name != "store" || p.Checks[0].OK || p.Checks[0].Detail == "" {
		t.Errorf("checks = %+v, want the store's, with the reason", p.Checks)
	}
	g.m.Drain()
	p = refused(t, g.do(request{method: "GET", path: "/readyz"}), 503, session.CodeDraining)
	if !strings.Contains(p.Detail, "store: ") || !strings.Contains(p.Detail, "serving: ") {
		t.Errorf("detail = %q, want both failed checks", p.Detail)
	}
	g.store.down.Store(false)
	p = refused(t, g.do(request{method: "GET", path: "/readyz?verbose"}), 503, session.CodeDraining)
	if len(p.Checks) != 3 || !p.Checks[0].OK || p.Checks[1].OK || !p.Checks[2].OK {
		t.Errorf("checks = %+v, want only serving failed", p.Checks)
	}
}

// A defect is answered, logged, and leaves everything as it was.
func TestPanic(t *testing.T) {
	g := newGateway(t, session.Config{}, func(c *Config) {
		c.Examine = func(context.Context) any { panic("kaboom") }
	})
	l := g.acquire("held", "")
	a := g.do(request{method: "GET", path: "/v1/admin/doctor", unix: true})
	p := refused(t, a, 500, session.CodeInternal)
	if strings.Contains(a.body, "goroutine") || strings.Contains(a.body, "kaboom") {
		t.Errorf("body = %s, want neither the stack nor the reason", a.body)
	}
	log := g.log.String()
	for _, want := range []string{p.RequestID, "kaboom", "TestPanic"} {
		if !strings.Contains(log, want) {
			t.Errorf("the log has no %q:\n%s", want, log)
		}
	}
	g.must(200, request{method: "DELETE", path: "/v1/locks/held", token: l.Token})
}

// After the first event there is no status to be changed: the connection is cut.
func TestPanicInStream(t *testing.T) {
	h := New(Config{Manager: newGateway(t, session.Config{}).m})
	h.engine.GET("/web/cut", h.answer(func(c *gin.Context) error {
		newStream(c).comment(keepalive)
		panic("kaboom")
	}))
	c, rec := ginContext(&http.Request{Method: "GET", Header: http.Header{}})
	defer func() {
		if v := recover(); v != http.ErrAbortHandler {
			t.Errorf("panic = %v, want %v", v, http.ErrAbortHandler)
		}
		if strings.Contains(rec.Body.String(), "internal") {
			t.Errorf("body = %q, want the comment alone", rec.Body)
		}
	}()
	req, _ := http.NewRequest("GET", "http://localhost/web/cut", nil)
	c.Request = req
	h.ServeHTTP(rec, req)
	t.Error("no panic")
}

// An error of which the client is told nothing is in the log.
func TestInternalErrorIsLogged(t *testing.T) {
	g := newGateway(t, session.Config{})
	g.store.lacks.Store(&http.ErrNoLocation)
	a := g.do(request{method: "GET", path: "/v1/locks"})
	refused(t, a, 500, session.CodeInternal)
	if want := http.ErrNoLocation.Error(); strings.Contains(a.body, want) || !strings.Contains(g.log.String(), want) {
		t.Errorf("body %s, log %s, want %q in the log alone", a.body, g.log, want)
	}
}
