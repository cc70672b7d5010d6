package api

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/session"
)

func TestAcquireAnonymous(t *testing.T) {
	g := newGateway(t, session.Config{})
	a := g.must(201, request{method: "PUT", path: "/v1/locks/nightly?ttl=10s&note=backup"})
	l := into[lock](t, a)
	if l.Name != "nightly" || l.State != session.StateHeld || l.Count != 1 || l.Thread != 1 || l.Note != "backup" || !l.AutoRenew {
		t.Errorf("lock = %+v, want nightly, held, count 1, thread 1, the note, auto_renew", l)
	}
	if l.TTLMS <= 9000 || l.TTLMS > 10000 {
		t.Errorf("ttl_ms = %d, want just under 10000", l.TTLMS)
	}
	if in := time.Until(l.MaxHoldAt); in < 59*time.Minute || in > time.Hour {
		t.Errorf("max_hold_at is in %v, want anonymous_max_hold (1h)", in)
	}
	if l.ValidUntilBoottime != 0 {
		t.Errorf("valid_until_boottime_ns = %d over TCP, want none", l.ValidUntilBoottime)
	}
	fence := strconv.FormatUint(uint64(l.Fence), 10)
	if got := a.header.Get("Lockgw-Fence"); got != fence || l.Fence == 0 {
		t.Errorf("Lockgw-Fence = %q, want %q and not 0", got, fence)
	}
	if got, want := a.header.Get("ETag"), `"`+fence+`"`; got != want {
		t.Errorf("ETag = %q, want %q", got, want)
	}
	g.must(200, request{method: "DELETE", path: "/v1/locks/nightly", token: l.Token})
	until(t, "the session ends with its lock", func() bool { return g.m.Stats().Sessions == 0 })
}

func TestAcquireOverUnixSocket(t *testing.T) {
	g := newGateway(t, session.Config{})
	l := into[lock](t, g.must(201, request{method: "PUT", path: "/v1/locks/a?ttl=10s", unix: true}))
	left := time.Duration(l.ValidUntilBoottime) - session.Boottime()
	if left <= 9*time.Second || left > 10*time.Second {
		t.Errorf("valid_until_boottime_ns is in %v, want just under 10s", left)
	}
}

// What is in the query may as well be in the body, or some here and some there.
func TestAcquireParameters(t *testing.T) {
	tests := []struct{ query, body string }{
		{"?ttl=90&renew=false&thread=7&max_hold=1m40s&note=x&wait=0.25", ""},
		{"", `{"ttl":90,"renew":false,"thread":7,"max_hold":"1m40s","note":"x","wait":0.25}`},
		{"?ttl=1m30s&thread=7&mode=exclusive", `{"renew":false,"max_hold":100,"note":"x","min_hold":"0"}`},
		{"?ttl=90&renew=false&thread=7&max_hold=100&note=x", "{}"},
	}
	for i, tt := range tests {
		g := newGateway(t, session.Config{})
		l := into[lock](t, g.must(201, request{method: "PUT", path: "/v1/locks/a" + tt.query, body: tt.body}))
		if l.TTLMS < 88000 || l.TTLMS > 90000 || l.AutoRenew || l.Thread != 7 || l.Note != "x" {
			t.Errorf("%d: lock = %+v, want ttl 90 s, no auto_renew, thread 7, note x", i, l)
		}
		if in := time.Until(l.MaxHoldAt); in < 98*time.Second || in > 100*time.Second {
			t.Errorf("%d: max_hold_at is in %v, want 100 s", i, in)
		}
	}
}

func TestAcquireAgain(t *testing.T) {
	g := newGateway(t, session.Config{})
	token := g.open()
	first := g.acquire("a", token)
	a := g.must(200, request{method: "PUT", path: "/v1/locks/a", token: token})
	again := into[lock](t, a)
	if again.Count != 2 || again.Fence != first.Fence {
		t.Errorf("count, fence = %d, %d, want 2, %d", again.Count, again.Fence, first.Fence)
	}
	r := into[released](t, g.must(200, request{method: "DELETE", path: "/v1/locks/a", token: token}))
	if r.Released || r.Count != 1 {
		t.Errorf("release = %+v, want one entry left", r)
	}
	if st := g.state("a"); st.State != session.StateHeld {
		t.Errorf("state = %s, want held", st.State)
	}
}

func TestAcquireText(t *testing.T) {
	g := newGateway(t, session.Config{})
	text := http.Header{"Accept": {"text/plain"}}
	a := g.must(201, request{method: "PUT", path: "/v1/locks/a", header: text})
	if !regexp.MustCompile(`^[A-Za-z0-9_-]{43}\n$`).MatchString(a.body) {
		t.Fatalf("body = %q, want the token and a newline", a.body)
	}
	if a.header.Get("Lockgw-Fence") == "" {
		t.Error("no Lockgw-Fence header")
	}
	// an error is a problem all the same
	refused(t, g.do(request{method: "PUT", path: "/v1/locks/a", header: text}), 423, session.CodeLocked)
	for want, accepts := range map[string][]string{
		"application/json": {
			"", "*/*", "application/json", "application/json, text/plain", "image/png", "t", "text/plain;q=0", "text/plain; q=0.0, */*",
			"text/plain;q=0.1, application/json", "*/*, text/plain", "text/*;q=0, application/*;q=0.1", "application/json;q=0",
		},
		"text/plain; charset=utf-8": {
			"Text/Plain", "text/*", "text/plain, application/json", "application/json;q=0, */*", "application/json ; Q=0.5, text/plain;charset=utf-8",
			"*/*;q=0.1,text/plain;q=0.2", "text/plain, */*", "text/plain;q=high",
		},
	} {
		for _, accept := range accepts {
			b := g.must(200, request{
				method: "PUT", path: "/v1/locks/a", token: a.body[:43], header: http.Header{"Accept": {accept}},
			})
			if got := b.header.Get("Content-Type"); got != want {
				t.Errorf("Accept %q: Content-Type = %q, want %s", accept, got, want)
			}
		}
	}
}

func TestAcquireLocked(t *testing.T) {
	g := newGateway(t, session.Config{})
	l := into[lock](t, g.must(201, request{method: "PUT", path: "/v1/locks/a?note=mine", unix: true}))
	a := g.do(request{method: "PUT", path: "/v1/locks/a"})
	p := refused(t, a, 423, session.CodeLocked)
	if p.Lock != "a" || p.Holder == nil || p.Holder.Owner != l.Owner || p.Holder.Node != "host-a" || p.Holder.Note != "mine" {
		t.Errorf("problem = %+v, holder %+v, want lock a, the holder with node and note", p, p.Holder)
	}
	if p.Holder.PID == 0 || p.Holder.UID == nil {
		t.Errorf("holder = %+v, want the pid and uid of the Unix socket's peer", p.Holder)
	}
	if p.RetryAfterMS == 0 || a.header.Get("Retry-After") == "" || p.Position != 1 {
		t.Errorf("retry_after_ms = %d, Retry-After = %q, position = %d, want some, some, 1",
			p.RetryAfterMS, a.header.Get("Retry-After"), p.Position)
	}
	if p.RequestID != a.header.Get(requestIDHeader) {
		t.Errorf("request_id = %q, want that of the header, %q", p.RequestID, a.header.Get(requestIDHeader))
	}
	if p.Type != "https://lockgw.dev/errors/locked" || p.Status != 423 || a.header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("problem = %+v, %s, want type, status and media type of RFC 9457", p, a.header.Get("Content-Type"))
	}
	if n := g.m.Stats().Sessions; n != 1 {
		t.Errorf("sessions = %d, want only the holder's", n)
	}
}

func TestAcquireWaits(t *testing.T) {
	g := newGateway(t, session.Config{})
	l := g.acquire("a", "")
	start := time.Now()
	a := g.do(request{method: "PUT", path: "/v1/locks/a?wait=0.1"})
	refused(t, a, 423, session.CodeWaitTimeout)
	if d := time.Since(start); d < 100*time.Millisecond {
		t.Errorf("refused after %v, want the wait of 100ms", d)
	}
	got := make(chan answer, 1)
	go func() { got <- g.do(request{method: "PUT", path: "/v1/locks/a?wait=1m"}) }()
	until(t, "the caller waits", func() bool { return g.m.Stats().Waiters == 1 })
	g.must(200, request{method: "DELETE", path: "/v1/locks/a", token: l.Token})
	if b := <-got; b.status != 201 || into[lock](t, b).Fence <= l.Fence {
		t.Errorf("status = %d, body %s, want 201 and a fence above %d", b.status, b.body, l.Fence)
	}
}

func TestPreferWait(t *testing.T) {
	t.Parallel() // waits for seconds
	g := newGateway(t, session.Config{})
	g.acquire("a", "")
	tests := []struct {
		query, prefer, applied string
		code                   session.Code
	}{
		{"", "wait=1", "wait=1", session.CodeWaitTimeout},
		{"", "respond-async, Wait=1; x=y", "wait=1", session.CodeWaitTimeout},
		{"?wait=0", "wait=1", "", session.CodeLocked}, // what is asked explicitly counts
		{"", "respond-async", "", session.CodeLocked},
		{"", "wait=0", "wait=0", session.CodeLocked},
		{"", "wait=soon", "", session.CodeInvalid},
		{"", "wait=301", "", session.CodeInvalid}, // over the limit, so that nobody waits
	}
	for _, tt := range tests {
		a := g.do(request{method: "PUT", path: "/v1/locks/a" + tt.query, header: http.Header{"Prefer": {tt.prefer}}})
		if p := into[problem](t, a); p.Code != tt.code {
			t.Errorf("%q with Prefer %q: code = %s, want %s", tt.query, tt.prefer, p.Code, tt.code)
		}
		if got := a.header.Get("Preference-Applied"); got != tt.applied {
			t.Errorf("%q with Prefer %q: Preference-Applied = %q, want %q", tt.query, tt.prefer, got, tt.applied)
		}
	}
}

// A client that hangs up stops waiting, and what was opened for it is closed.
func TestHangUpEndsWait(t *testing.T) {
	g := newGateway(t, session.Config{})
	l := g.acquire("a", "")
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
	until(t, "nobody waits", func() bool { return g.m.Stats() == session.Stats{Sessions: 1, Holds: 1} })
	if log := g.log.String(); log != "" {
		t.Errorf("log = %s, want nothing", log)
	}
	g.must(200, request{method: "DELETE", path: "/v1/locks/a", token: l.Token})
	if st := g.state("a"); st.State != session.StateFree {
		t.Errorf("state = %s, want free", st.State)
	}
}

// A grant that comes when its client has hung up already is given back, and no min_hold keeps
// its name.
func TestOrphanGrant(t *testing.T) {
	g := newGateway(t, session.Config{})
	h := New(Config{Manager: g.m})
	token := g.open()
	for _, tok := range []string{"", token} {
		cl := &claim{names: []string{"a"}, acquire: session.Acquire{Thread: 1, MinHold: time.Minute}}
		req := g.request(request{method: "PUT", path: "/v1/locks/a", token: tok})
		if err := begin(h, req, cl); err != nil {
			t.Fatal(err)
		}
		grant, err := cl.sess.Acquire(t.Context(), "a", cl.acquire)
		if err != nil {
			t.Fatal(err)
		}
		ctx, hangUp := context.WithCancel(t.Context())
		hangUp()
		c, rec := ginContext(req.WithContext(ctx))
		if err := settle(c, cl, grant, nil); err == nil || rec.Body.Len() > 0 {
			t.Errorf("token %v: settle = %v, body %q, want an error and no body", tok != "", err, rec.Body)
		}
		until(t, "the lock is free", func() bool { return g.state("a").State == session.StateFree })
	}
	if n := g.m.Stats().Sessions; n != 1 {
		t.Errorf("sessions = %d, want only the one that was opened by itself", n)
	}
}

// The same, of a request with a key: its client asks again, so it stays.
func TestOrphanGrantWithKey(t *testing.T) {
	g := newGateway(t, session.Config{})
	h := New(Config{Manager: g.m})
	token := g.open()
	req := g.request(request{method: "PUT", path: "/v1/locks/a", token: token})
	cl := &claim{names: []string{"a"}, acquire: session.Acquire{Thread: 1, Key: "k"}}
	if err := begin(h, req, cl); err != nil {
		t.Fatal(err)
	}
	grant, err := cl.sess.Acquire(t.Context(), "a", cl.acquire)
	if err != nil {
		t.Fatal(err)
	}
	ctx, hangUp := context.WithCancel(t.Context())
	hangUp()
	c, _ := ginContext(req.WithContext(ctx))
	if err := settle(c, cl, grant, nil); err == nil {
		t.Error("settle = nil, want an error")
	}
	if st := g.state("a"); st.State != session.StateHeld {
		t.Errorf("state = %s, want held", st.State)
	}
}

// A grant whose deadline has passed before it could be told is not told.
func TestGrantTooLate(t *testing.T) {
	g := newGateway(t, session.Config{})
	h := New(Config{Manager: g.m})
	req := g.request(request{method: "PUT", path: "/v1/locks/a"})
	cl := &claim{names: []string{"a"}, acquire: session.Acquire{Thread: 1, TTL: time.Second, Fixed: true}}
	if err := begin(h, req, cl); err != nil {
		t.Fatal(err)
	}
	grant, err := cl.sess.Acquire(t.Context(), "a", cl.acquire)
	if err != nil {
		t.Fatal(err)
	}
	<-grant.Lease.Done()
	for _, accept := range []string{"application/json", "text/plain"} {
		req.Header.Set("Accept", accept)
		c, rec := ginContext(req)
		if err := settle(c, cl, grant, nil); session.CodeOf(err) != session.CodeLost || rec.Body.Len() > 0 {
			t.Errorf("%s: settle = %v, body %q, want lost and no body", accept, err, rec.Body)
		}
	}
	if n := g.m.Stats().Sessions; n != 0 {
		t.Errorf("sessions = %d, want 0: nobody has the token", n)
	}
}

func TestAcquireLimits(t *testing.T) {
	g := newGateway(t, session.Config{Limits: session.Limits{
		Sessions: 2, HoldsPerSession: 2, WaitsPerSession: 1, WaitersPerLock: 1, Entries: 2,
	}})
	token := g.open()
	g.acquire("a", token)
	g.acquire("a", token)
	refused(t, g.do(request{method: "PUT", path: "/v1/locks/a", token: token}), 409, session.CodeConflict) // R51
	g.acquire("b", token)
	a := g.do(request{method: "PUT", path: "/v1/locks/c", token: token})
	refused(t, a, 429, session.CodeTooManyHolds)
	if a.header.Get("Retry-After") == "" {
		t.Error("429 without Retry-After")
	}
	other := g.open()
	refused(t, g.do(request{method: "PUT", path: "/v1/locks/d"}), 429, session.CodeTooManySessions)
	refused(t, g.do(request{method: "POST", path: "/v1/sessions"}), 429, session.CodeTooManySessions)
	got := make(chan answer, 1)
	go func() { got <- g.do(request{method: "PUT", path: "/v1/locks/a?wait=1m", token: other}) }()
	until(t, "the caller waits", func() bool { return g.m.Stats().Waiters == 1 })
	refused(t, g.do(request{method: "PUT", path: "/v1/locks/b?wait=1s", token: other}), 429, session.CodeTooManyWaiters)
	g.must(200, request{method: "DELETE", path: "/v1/locks/a?all=true", token: token})
	if b := <-got; b.status != 201 {
		t.Errorf("the waiter got %d, want 201", b.status)
	}
}

func TestAcquireWithoutStore(t *testing.T) {
	g := newGateway(t, session.Config{Timeout: 300 * time.Millisecond})
	g.store.down.Store(true)
	a := g.do(request{method: "PUT", path: "/v1/locks/a"})
	p := into[problem](t, a)
	if a.status != 503 || p.Code != session.CodeUnavailable && p.Code != session.CodeOutcomeUnknown {
		t.Fatalf("status, code = %d, %s, want 503 and unavailable or outcome_unknown", a.status, p.Code)
	}
	if (p.Code == session.CodeOutcomeUnknown) != (p.Held != nil && !*p.Held) {
		t.Errorf("code = %s, held = %v, want held:false with outcome_unknown only", p.Code, p.Held)
	}
	if a.header.Get("Retry-After") == "" {
		t.Error("503 without Retry-After")
	}
	if n := g.m.Stats().Sessions; n != 0 {
		t.Errorf("sessions = %d, want 0", n)
	}
}

func TestProblemOfUnknownOutcome(t *testing.T) {
	p := problemOf(&session.Error{Code: session.CodeOutcomeUnknown, Lock: "a", RetryAfter: 1500 * time.Microsecond})
	if p.Held == nil || *p.Held || p.Status != 503 || p.RetryAfterMS != 2 {
		t.Errorf("problem = %+v, want 503, held:false and retry_after_ms rounded up to 2", p)
	}
}

func TestAcquireWhileDraining(t *testing.T) {
	g := newGateway(t, session.Config{})
	token := g.open()
	g.m.Drain()
	for _, r := range []request{
		{method: "PUT", path: "/v1/locks/a"},
		{method: "PUT", path: "/v1/locks/a", token: token},
		{method: "POST", path: "/v1/locks/a/hold"},
		{method: "POST", path: "/v1/sessions"},
	} {
		a := g.do(r)
		refused(t, a, 503, session.CodeDraining)
		if a.header.Get("Retry-After") == "" {
			t.Errorf("%s %s: 503 without Retry-After", r.method, r.path)
		}
	}
}

func TestIdempotencyKey(t *testing.T) {
	g := newGateway(t, session.Config{})
	token := g.open()
	key := http.Header{"Idempotency-Key": {"acquire-1"}}
	first := into[lock](t, g.must(201, request{method: "PUT", path: "/v1/locks/a", token: token, header: key}))
	again := into[lock](t, g.must(201, request{method: "PUT", path: "/v1/locks/a", token: token, header: key}))
	if again.Fence != first.Fence || again.Count != 1 {
		t.Errorf("fence, count = %d, %d, want those of the first answer, %d, 1", again.Fence, again.Count, first.Fence)
	}
	refused(t, g.do(request{method: "PUT", path: "/v1/locks/b", token: token, header: key}), 409, session.CodeConflict)
	key = http.Header{"Idempotency-Key": {"release-1"}}
	for range 2 {
		r := into[released](t, g.must(200, request{method: "DELETE", path: "/v1/locks/a", token: token, header: key}))
		if !r.Released {
			t.Errorf("release = %+v, want released each time", r)
		}
	}
}

// A session bound to a process ends with it.
func TestBindToProcess(t *testing.T) {
	g := newGateway(t, session.Config{})
	cmd := exec.CommandContext(t.Context(), "sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	bind := fmt.Sprintf("/v1/locks/a?bind=pid:%d", cmd.Process.Pid)
	p := refused(t, g.do(request{method: "PUT", path: bind}), 400, session.CodeInvalid)
	if g.m.Stats() != (session.Stats{}) {
		t.Errorf("stats after bind over TCP (%s) = %+v, want none", p.Detail, g.m.Stats())
	}
	l := into[lock](t, g.must(201, request{method: "PUT", path: bind, unix: true}))
	if !l.MaxHoldAt.IsZero() {
		t.Errorf("max_hold_at = %v, want none: the process is the proof of life", l.MaxHoldAt)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	until(t, "the lock is free", func() bool { return g.state("a").State == session.StateFree })
}

// Who asks is known over a Unix socket only, and only if the kernel says so.
func TestBindNeedsPeer(t *testing.T) {
	unknown := func(net.Conn) (session.Peer, error) { return session.NoPeer(), errors.New("no credentials") }
	tests := []struct {
		what   string
		change func(*Config)
		unix   bool
		status int
		detail string
	}{
		{"over TCP", func(*Config) {}, false, 400, "Unix socket"},
		{"without credentials", func(c *Config) { c.peerOf = unknown }, true, 400, "no credentials"},
	}
	for _, tt := range tests {
		g := newGateway(t, session.Config{}, tt.change)
		for _, r := range []request{
			{method: "PUT", path: "/v1/locks/a?bind=pid:1", unix: tt.unix},
			{method: "POST", path: "/v1/sessions", body: `{"bind":{"pid":1}}`, unix: tt.unix},
		} {
			g.unchanged(func() {
				a := g.do(r)
				if p := into[problem](t, a); a.status != tt.status || !strings.Contains(p.Detail, tt.detail) {
					t.Errorf("%s: %s %s: %d %q, want %d %q", tt.what, r.method, r.path, a.status, p.Detail, tt.status, tt.detail)
				}
			})
		}
		g.must(201, request{method: "PUT", path: "/v1/locks/a", unix: tt.unix}) // bind alone needs it
	}
}

// A repeat with the key of a request that brought no token gets the first answer: on a
// Unix socket, where the user is known, and over TCP if it knows the secret.
func TestAcquireByKeyAlone(t *testing.T) {
	for _, unix := range []bool{true, false} {
		g := newGateway(t, session.Config{})
		put := func(name, key string) request {
			r := request{method: "PUT", path: "/v1/locks/" + name, unix: unix, header: http.Header{"Idempotency-Key": {key}}}
			if !unix {
				r.header.Set("Lockgw-Secret", "0123456789abcdef0123456789abcdef")
			}
			return r
		}
		first := into[lock](t, g.must(201, put("a", "one")))
		again := into[lock](t, g.must(201, put("a", "one")))
		if again.Token != first.Token || again.Fence != first.Fence || again.Count != 1 {
			t.Errorf("repeat = %+v, want the first answer, %+v", again, first)
		}
		refused(t, g.do(put("b", "one")), 409, session.CodeConflict)
		refused(t, g.do(put("a", "two")), 423, session.CodeLocked)
		g.must(200, request{method: "DELETE", path: "/v1/locks/a", token: first.Token})
		if other := into[lock](t, g.must(201, put("a", "three"))); other.Token == first.Token || other.Fence <= first.Fence {
			t.Errorf("another key: %+v, after %+v", other, first)
		}
	}
}

// Two callers over TCP who come upon the same key, two jobs that use the date, do not
// both get the lock and the token.
func TestSameKeyOfStrangers(t *testing.T) {
	g := newGateway(t, session.Config{})
	const dated = "nightly-2026-11-22"
	put := func(secret string) request {
		r := request{method: "PUT", path: "/v1/locks/a", header: http.Header{"Idempotency-Key": {dated}}}
		if secret != "" {
			r.header.Set("Lockgw-Secret", secret)
		}
		return r
	}
	if p := refused(t, g.do(put("")), 400, session.CodeInvalid); !strings.Contains(p.Detail, "Lockgw-Secret") {
		t.Errorf("detail = %q, want what to do", p.Detail)
	}
	if st := g.m.Stats(); st != (session.Stats{}) {
		t.Errorf("stats = %+v, want that nothing was opened", st)
	}
	first := into[lock](t, g.must(201, put("c29tZSByYW5kb20gYnl0ZXM")))
	stranger := g.do(put("YSBkaWZmZXJlbnQgc2VjcmV0"))
	refused(t, stranger, 423, session.CodeLocked)
	if strings.Contains(stranger.body, first.Token) {
		t.Error("a stranger was told the token")
	}
	multi := put("")
	multi.method, multi.path, multi.body = "POST", multilocks, `{"names":["b"]}`
	refused(t, g.do(multi), 400, session.CodeInvalid)
}

func TestSecretMustBeLong(t *testing.T) {
	g := newGateway(t, session.Config{})
	for _, secret := range [][]string{
		{""}, {"short"}, {"2026-11-22-2026-11-22-2026"}, {"0123456789abcdef0123456789abcde"}, {strings.Repeat("x", 129)},
		{"a secret with white space in it"}, {strings.Repeat("x", 40), strings.Repeat("y", 40)},
	} {
		r := request{method: "PUT", path: "/v1/locks/a", unix: true, header: http.Header{"Idempotency-Key": {"k"}, "Lockgw-Secret": secret}}
		if p := refused(t, g.do(r), 400, session.CodeInvalid); !strings.HasPrefix(p.Detail, "Lockgw-Secret: ") {
			t.Errorf("%q: detail = %q", secret, p.Detail)
		}
	}
}

// Who asks for a lock that ends with a process must not be told of one that does not,
// and the reverse.
func TestKeyOfAnotherLife(t *testing.T) {
	g := newGateway(t, session.Config{})
	put := func(name, life string) request {
		return request{method: "PUT", path: "/v1/locks/" + name + life, unix: true, header: http.Header{"Idempotency-Key": {name}}}
	}
	bind := fmt.Sprintf("?bind=pid:%d", os.Getpid())
	g.must(201, put("a", ""))
	refused(t, g.do(put("a", bind)), 409, session.CodeConflict)
	g.must(201, put("a", ""))
	g.must(201, put("b", bind))
	refused(t, g.do(put("b", "")), 409, session.CodeConflict)
	g.must(201, put("b", bind))
}
