package api

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/lockgw/lockgw/session"
)

func TestMetrics(t *testing.T) {
	g := newGateway(t, session.Config{}, func(c *Config) {
		c.Metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			_, _ = w.Write([]byte("x 1\n"))
		})
	})
	if a := g.must(200, request{method: "GET", path: "/metrics"}); a.body != "x 1\n" {
		t.Errorf("body = %q, want that of Config.Metrics", a.body)
	}
	refused(t, g.do(request{method: "GET", path: "/metrics?a=1"}), 400, session.CodeInvalid)
	refused(t, g.do(request{method: "GET", path: "/metrics", host: "evil.example"}), 421, codeHostNotAllowed)
	refused(t, g.do(request{method: "POST", path: "/metrics"}), 405, codeMethodNotAllowed)
	refused(t, newGateway(t, session.Config{}).do(request{method: "GET", path: "/metrics"}), 404, codeNotFound)
}

// Around sees how a request is answered that has met a defect, and that one whose client has
// hung up is not answered at all.
func TestAroundSeesTheEnd(t *testing.T) {
	type end struct {
		status            int
		returned, written bool
	}
	ends := make(chan end, 1)
	g := newGateway(t, session.Config{}, func(c *Config) {
		c.Examine = func(context.Context) any { panic("kaboom") }
		c.Around = func(c *gin.Context) {
			e := end{}
			defer func() {
				e.status, e.written = c.Writer.Status(), c.Writer.Written()
				ends <- e
			}()
			c.Next()
			e.returned = true
		}
	})
	refused(t, g.do(request{method: "GET", path: "/v1/admin/doctor", unix: true}), 500, session.CodeInternal)
	if got, want := <-ends, (end{500, true, true}); got != want {
		t.Errorf("after a defect Around sees %+v, want %+v", got, want)
	}
	g.acquire("a", "")
	<-ends
	ctx, hangUp := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() {
		_, err := g.client.Do(g.request(request{method: "PUT", path: "/v1/locks/a?wait=1m"}).WithContext(ctx))
		gone <- err
	}()
	until(t, "the caller waits", func() bool { return g.m.Stats().Waiters == 1 })
	hangUp()
	if err := <-gone; err == nil {
		t.Fatal("got an answer, want none")
	}
	if got := <-ends; got.returned || got.written {
		t.Errorf("after a hang-up Around sees %+v, want no answer", got)
	}
}

// Around sees the request and its route before the endpoint does, and its context goes on.
func TestAround(t *testing.T) {
	type key struct{}
	var routes []string
	inner := make(chan any, 1)
	g := newGateway(t, session.Config{}, func(c *Config) {
		c.Around = func(c *gin.Context) {
			routes = append(routes, c.FullPath())
			c.Request = c.Request.WithContext(context.WithValue(c.Request.Context(), key{}, "value"))
		}
		c.Metrics = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			inner <- r.Context().Value(key{})
			w.Header().Set("Content-Type", "text/plain")
		})
	})
	g.must(200, request{method: "GET", path: "/metrics"})
	if got := <-inner; got != "value" || len(routes) != 1 || routes[0] != "/metrics" {
		t.Errorf("value = %v, routes = %q; want what Around has set, for the one request", got, routes)
	}
}

// A check that is excluded does not count and is not shown.
func TestReadyExclude(t *testing.T) {
	g := newGateway(t, session.Config{Timeout: 300 * time.Millisecond})
	g.store.down.Store(true)
	refused(t, g.do(request{method: "GET", path: "/readyz"}), 503, session.CodeUnavailable)
	refused(t, g.do(request{method: "GET", path: "/readyz?exclude=journal"}), 503, session.CodeUnavailable)
	tests := []struct{ query, want string }{
		{"exclude=store", `{"status":"ready"}`},
		{"verbose&exclude=store", `{"status":"ready","checks":[{"name":"serving","ok":true},{"name":"journal","ok":true}]}`},
		{"verbose&exclude=store,journal", `{"status":"ready","checks":[{"name":"serving","ok":true}]}`},
	}
	for _, tt := range tests {
		if a := g.must(200, request{method: "GET", path: "/readyz?" + tt.query}); a.body != tt.want+"\n" {
			t.Errorf("%s = %s, want %s", tt.query, a.body, tt.want)
		}
	}
	for _, bad := range []string{"exclude", "exclude=", "exclude=nosuch", "exclude=store,", "exclude=store&exclude=journal"} {
		refused(t, g.do(request{method: "GET", path: "/readyz?" + bad}), 400, session.CodeInvalid)
	}
}

// stuck holds the mutex of a lock when its hold ends.
type stuck struct{ holding, let chan struct{} }

func (*stuck) Begin(ctx context.Context, _ session.Operation) context.Context { return ctx }
func (*stuck) Detach(context.Context) context.Context                         { return nil }
func (*stuck) Acquired(context.Context, session.Acquired)                     {}
func (*stuck) Given(context.Context, session.Given)                           {}
func (*stuck) Renewed(session.Renewed)                                        {}
func (s *stuck) Ended(session.HoldEnded)                                      { close(s.holding); <-s.let }

// While the mutex of a lock is stuck the gateway does not count as alive.
func TestLivezHangsWithALock(t *testing.T) {
	s := &stuck{make(chan struct{}), make(chan struct{})}
	g := newGateway(t, session.Config{Observer: s})
	l := g.acquire("x", "")
	go func() { _ = g.m.Break(context.Background(), "x", l.Fence, "", "test") }()
	<-s.holding
	alive := make(chan int, 1)
	go func() {
		resp, err := g.client.Get("http://" + g.tcp + "/livez")
		if err != nil {
			alive <- 0
			return
		}
		_ = resp.Body.Close()
		alive <- resp.StatusCode
	}()
	select {
	case status := <-alive:
		close(s.let)
		t.Fatalf("/livez answers %d, want no answer", status)
	case <-time.After(100 * time.Millisecond):
	}
	close(s.let)
	if status := <-alive; status != 200 {
		t.Errorf("/livez = %d when the lock is free again, want 200", status)
	}
}
