package api

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/session"
)

// A store that serves in part is ready, and nobody takes a part of a list for all.
func TestStoreServesInPart(t *testing.T) {
	g := newGateway(t, session.Config{})
	l := g.acquire("a", "")
	if page := into[statusPage](t, g.must(200, request{method: "GET", path: "/v1/locks"})); len(page.Items) != 1 || page.Incomplete != "" {
		t.Errorf("page = %+v, want one name and nothing missing", page)
	}
	lacks := fmt.Errorf("%w: 1 of 3 masters is down", backend.ErrPartly)
	g.store.lacks.Store(&lacks)
	page := into[statusPage](t, g.must(200, request{method: "GET", path: "/v1/locks"}))
	if len(page.Items) != 1 || page.Items[0].Fence != l.Fence || !strings.Contains(page.Incomplete, "1 of 3 masters") {
		t.Errorf("page = %+v, want one name, and why others are missing", page)
	}
	want := `{"name":"store","ok":true,"detail":"the store serves in part: 1 of 3 masters is down"}`
	if a := g.must(200, request{method: "GET", path: "/readyz"}); a.body != `{"status":"ready","checks":[`+want+"]}\n" {
		t.Errorf("/readyz = %s, want ready with %s", a.body, want)
	}
	if a := g.must(200, request{method: "GET", path: "/readyz?verbose"}); !strings.Contains(a.body, want) {
		t.Errorf("/readyz?verbose = %s, want %s", a.body, want)
	}
}

// A quarantine is not ready, and says when it is over.
func TestQuarantineIsNotReady(t *testing.T) {
	g := newGateway(t, session.Config{})
	var lacks error = &backend.Later{Err: fmt.Errorf("%w: new locks from 2026-11-22T07:53:49Z", backend.ErrPartly), After: 26500 * time.Millisecond}
	g.store.lacks.Store(&lacks)
	a := g.do(request{method: "GET", path: "/readyz"})
	p := refused(t, a, 503, session.CodeUnavailable)
	if !strings.Contains(p.Detail, "new locks from 2026-11-22T07:53:49Z") || a.header.Get("Retry-After") != "27" {
		t.Errorf("/readyz = %+v, Retry-After %s; want the end of the quarantine, 27", p, a.header.Get("Retry-After"))
	}
	g.store.lacks.Store(nil)
	g.must(200, request{method: "GET", path: "/readyz"})
}

// A store that knows for how long it refuses is not asked again before.
func TestRetryAfterOfStore(t *testing.T) {
	g := newGateway(t, session.Config{})
	var later error = &backend.Later{Err: fmt.Errorf("%w: in quarantine", backend.ErrRefused), After: 27100 * time.Millisecond}
	g.store.refuses.Store(&later)
	for _, query := range []string{"", "?wait=0.1"} {
		a := g.do(request{method: "PUT", path: "/v1/locks/a" + query})
		p := refused(t, a, 503, session.CodeUnavailable)
		left := p.RetryAfterMS // it counts from the refusal, a moment after the store has said it
		if left <= 1000 || left > 27100 || a.header.Get("Retry-After") != fmt.Sprint((left+999)/1000) || !strings.Contains(p.Detail, "in quarantine") {
			t.Errorf("%q: Retry-After %s, problem %+v, want what is left of 27100 ms, and why", query, a.header.Get("Retry-After"), p)
		}
	}
	soon := backend.ErrRefused
	g.store.refuses.Store(&soon)
	if p := refused(t, g.do(request{method: "PUT", path: "/v1/locks/b"}), 503, session.CodeUnavailable); p.RetryAfterMS != 1000 {
		t.Errorf("retry_after_ms = %d, want 1000 where nothing is known", p.RetryAfterMS)
	}
}

// So it is where a list has its error as it is.
func TestRetryAfterOfList(t *testing.T) {
	g := newGateway(t, session.Config{})
	var later error = &backend.Later{Err: fmt.Errorf("%w: in quarantine", backend.ErrRefused), After: 27100 * time.Millisecond}
	g.store.lacks.Store(&later)
	a := g.do(request{method: "GET", path: "/v1/locks"})
	p := refused(t, a, 503, session.CodeUnavailable)
	if p.RetryAfterMS != 27100 || a.header.Get("Retry-After") != "28" || !strings.Contains(p.Detail, "in quarantine") {
		t.Errorf("Retry-After %s, problem %+v, want 28, 27100 ms and why", a.header.Get("Retry-After"), p)
	}
}
