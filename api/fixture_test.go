package api

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"go.uber.org/goleak"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/memory"
	"github.com/lockgw/lockgw/backend/tabletest"
	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/session/peer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// store is a memory store that counts what it is asked, can be cut off, and can serve
// in part.
type store struct {
	ledger.Table
	asked   atomic.Int64
	down    atomic.Bool
	refuses atomic.Pointer[error] // whatever is new
	lacks   atomic.Pointer[error] // some names
}

func errorIn(p *atomic.Pointer[error]) error {
	if err := p.Load(); err != nil {
		return *err
	}
	return nil
}

// newStore is one with all its names in this process.
func newStore() *store {
	s := &store{}
	s.Table = &tabletest.Checked{Table: memory.OpenTable(memory.NewRows(), "a"), Before: s.check}
	return s
}

func (s *store) check(_ context.Context, a tabletest.Asked) error {
	s.asked.Add(1)
	if s.down.Load() {
		return backend.ErrUnavailable
	}
	if a.New() {
		return errorIn(&s.refuses)
	}
	return nil
}

func (s *store) List(ctx context.Context, prefix, cursor string, limit int) ([]ledger.Named, string, error) {
	all, next, err := s.Table.List(ctx, prefix, cursor, limit)
	return all, next, errors.Join(err, errorIn(&s.lacks))
}

func (s *store) Ping(ctx context.Context) error {
	return errors.Join(s.Table.Ping(ctx), errorIn(&s.lacks))
}

// gateway is a server over a memory store, with a TCP and a Unix listener.
type gateway struct {
	t         *testing.T
	m         *session.Manager
	store     *store
	tcp, unix string // addresses
	log       *logBuffer

	descriptors *peer.Descriptors
	client      *http.Client // of both: the host "unix" is the socket
}

func newGateway(t *testing.T, cfg session.Config, change ...func(*Config)) *gateway {
	t.Helper()
	g := &gateway{t: t, log: &logBuffer{}, unix: filepath.Join(t.TempDir(), "http.sock")}
	g.store = newStore()
	cfg.Node = "host-a"
	g.m = session.New(g.store, cfg)
	g.descriptors = peer.NewDescriptors()
	c := Config{
		Manager: g.m, Descriptors: g.descriptors, Version: "1.2.3",
		Log: slog.New(slog.NewJSONHandler(g.log, nil)),
	}
	for _, f := range change {
		f(&c)
	}
	g.serve(NewServer(New(c)))
	return g
}

func (g *gateway) serve(srv *http.Server) {
	g.t.Helper()
	l := Listening{Descriptors: g.descriptors, Log: slog.New(slog.NewJSONHandler(g.log, nil))}
	tcp, unix := l.Listen(listen(g.t, "tcp", "127.0.0.1:0")), l.Listen(listen(g.t, "unix", g.unix))
	g.tcp = tcp.Addr().String()
	done := make(chan error, 2)
	go func() { done <- srv.Serve(tcp) }()
	go func() { done <- srv.Serve(unix) }()
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		var d net.Dialer
		if strings.HasPrefix(addr, "unix:") {
			return d.DialContext(ctx, "unix", g.unix)
		}
		return d.DialContext(ctx, network, addr)
	}
	tr := &http.Transport{DialContext: dial, DisableCompression: true}
	g.client = &http.Client{Transport: tr, Timeout: 2 * time.Minute}
	g.t.Cleanup(func() {
		tr.CloseIdleConnections()
		g.store.down.Store(false)
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := g.m.Close(ctx); err != nil {
			g.t.Errorf("close the manager: %v", err)
		}
		_ = srv.Shutdown(ctx)
		_ = srv.Close()
		<-done
		<-done
		_ = g.store.Close()
	})
}

func listen(t *testing.T, network, addr string) net.Listener {
	t.Helper()
	ln, err := net.Listen(network, addr)
	if err != nil {
		t.Fatal(err)
	}
	return ln
}

// request is one request; a zero field is not sent.
type request struct {
	method, path string
	token        string
	body         string // JSON, unless header says otherwise
	host         string
	header       http.Header
	unix         bool
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   string
	close  bool // the connection is closed after it
}

// do sends r and checks that the answer is as openapi.yaml says.
func (g *gateway) do(r request) answer {
	g.t.Helper()
	req := g.request(r)
	resp, err := g.client.Do(req)
	if err != nil {
		g.t.Fatalf("%s %s: %v", r.method, r.path, err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		g.t.Fatalf("%s %s: %v", r.method, r.path, err)
	}
	checkAnswer(g.t, req, resp, b)
	return answer{resp.StatusCode, resp.Header, string(b), resp.Close}
}

func (g *gateway) request(r request) *http.Request {
	g.t.Helper()
	base := "http://" + g.tcp
	if r.unix {
		base = "http://unix"
	}
	var body io.Reader
	if r.body != "" {
		body = strings.NewReader(r.body)
	}
	req, err := http.NewRequestWithContext(g.t.Context(), r.method, base+r.path, body)
	if err != nil {
		g.t.Fatal(err)
	}
	if r.unix {
		req.URL.Host = "unix"
	}
	if r.body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for k, v := range r.header {
		req.Header[k] = v
	}
	if r.token != "" {
		req.Header.Set("Authorization", "Bearer "+r.token)
	}
	req.Host = r.host
	return req
}

// must is do, and the status has to be want.
func (g *gateway) must(want int, r request) answer {
	g.t.Helper()
	a := g.do(r)
	if a.status != want {
		g.t.Fatalf("%s %s: status = %d, want %d; body %s", r.method, r.path, a.status, want, a.body)
	}
	return a
}

// into decodes the body.
func into[T any](t *testing.T, a answer) T {
	t.Helper()
	var v T
	if err := json.Unmarshal([]byte(a.body), &v); err != nil {
		t.Fatalf("body %q: %v", a.body, err)
	}
	return v
}

// acquire takes name and returns the hold.
func (g *gateway) acquire(name, token string) lock {
	g.t.Helper()
	a := g.do(request{method: "PUT", path: "/v1/locks/" + name, token: token})
	if a.status != 201 && a.status != 200 {
		g.t.Fatalf("acquire %s: status = %d; body %s", name, a.status, a.body)
	}
	return into[lock](g.t, a)
}

// open opens a session and returns its token.
func (g *gateway) open() string {
	g.t.Helper()
	return into[sessionInfo](g.t, g.must(201, request{method: "POST", path: "/v1/sessions"})).Token
}

func (g *gateway) state(name string) status {
	g.t.Helper()
	return into[status](g.t, g.must(200, request{method: "GET", path: "/v1/locks/" + name}))
}

// until waits until f holds.
func until(t *testing.T, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !f(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

// refused checks a problem.
func refused(t *testing.T, a answer, status int, code session.Code) problem {
	t.Helper()
	p := into[problem](t, a)
	if a.status != status || p.Code != code {
		t.Fatalf("status, code = %d, %s, want %d, %s; body %s", a.status, p.Code, status, code, a.body)
	}
	return p
}

// ginContext is a context of the router, of a request that did not come over a
// connection.
func ginContext(r *http.Request) (*gin.Context, *httptest.ResponseRecorder) {
	rec := httptest.NewRecorder()
	c, _ := gin.CreateTestContext(rec)
	c.Request = r
	return c, rec
}

// begin begins cl for a request that did not come over a connection.
func begin(h *Handler, r *http.Request, cl *claim) error {
	c, _ := ginContext(r.WithContext(context.WithValue(r.Context(), identityKey{}, h.identify(r))))
	return h.begin(c, cl, nil)
}
