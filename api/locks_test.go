package api

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/session"
)

// Only the owner releases and renews, and nobody else's try changes anything.
func TestNotYours(t *testing.T) {
	g := newGateway(t, session.Config{})
	mine, other := g.open(), g.open()
	l := g.acquire("a", mine)
	for _, r := range []request{
		{method: "DELETE", path: "/v1/locks/a", token: other},
		{method: "DELETE", path: "/v1/locks/a?all=true", token: other},
		{method: "DELETE", path: "/v1/locks/a?thread=2", token: mine},
		{method: "POST", path: "/v1/locks/a/renew", token: other},
		{method: "POST", path: "/v1/locks/a/renew?thread=2", token: mine},
		{method: "DELETE", path: "/v1/locks/never", token: mine},
	} {
		p := refused(t, g.do(r), 403, session.CodeNotOwner)
		if p.Lock == "" {
			t.Errorf("%s %s: the problem does not name the lock", r.method, r.path)
		}
	}
	if st := g.state("a"); st.Holder == nil || st.Holder.Owner != l.Owner {
		t.Errorf("holder = %+v, want still %s", st.Holder, l.Owner)
	}
}

func TestReleaseTwice(t *testing.T) {
	g := newGateway(t, session.Config{})
	token := g.open()
	g.acquire("a", token)
	g.acquire("a", token)
	r := into[released](t, g.must(200, request{method: "DELETE", path: "/v1/locks/a?all=true", token: token}))
	if !r.Released || r.Count != 0 || r.Name != "a" {
		t.Errorf("release = %+v, want a, released, count 0", r)
	}
	refused(t, g.do(request{method: "DELETE", path: "/v1/locks/a", token: token}), 403, session.CodeNotOwner)
}

func TestLostHold(t *testing.T) {
	g := newGateway(t, session.Config{})
	token := g.open()
	g.must(201, request{method: "PUT", path: "/v1/locks/a?ttl=1s&renew=false", token: token})
	until(t, "the lease is over", func() bool { return g.m.Stats().Holds == 0 })
	refused(t, g.do(request{method: "POST", path: "/v1/locks/a/renew", token: token}), 410, session.CodeLost)
	refused(t, g.do(request{method: "DELETE", path: "/v1/locks/a", token: token}), 410, session.CodeLost)
}

// A release that the store has not confirmed is no 200.
func TestReleaseWithoutStore(t *testing.T) {
	g := newGateway(t, session.Config{Timeout: 300 * time.Millisecond})
	l := g.acquire("a", "")
	g.store.down.Store(true)
	r := into[releasing](t, g.must(202, request{method: "DELETE", path: "/v1/locks/a", token: l.Token}))
	if r.Name != "a" || r.State != "releasing" || r.FreeByMS <= 0 || r.FreeByMS > 30000 {
		t.Errorf("answer = %+v, want a, releasing, free within the ttl", r)
	}
	g.store.down.Store(false)
	until(t, "the lock is free", func() bool { return g.state("a").State == session.StateFree })
}

func TestRenew(t *testing.T) {
	g := newGateway(t, session.Config{Timeout: 300 * time.Millisecond})
	l := into[lock](t, g.must(201, request{method: "PUT", path: "/v1/locks/a?ttl=2s"}))
	for _, r := range []request{
		{method: "POST", path: "/v1/locks/a/renew?ttl=20s", token: l.Token},
		{method: "POST", path: "/v1/locks/a/renew", body: `{"ttl":"20s","thread":1}`, token: l.Token},
	} {
		got := into[lock](t, g.must(200, r))
		if got.TTLMS <= 15000 || got.Fence != l.Fence || got.Token != l.Token {
			t.Errorf("renewed = %+v, want nearly 20 s, the same fence and token", got)
		}
	}
	g.store.down.Store(true)
	p := refused(t, g.do(request{method: "POST", path: "/v1/locks/a/renew", token: l.Token}), 503, session.CodeUnavailable)
	if p.RemainingMS == nil || *p.RemainingMS < 15000 {
		t.Errorf("remaining_ms = %v, want what is left of 20 s", p.RemainingMS)
	}
}

func TestInspect(t *testing.T) {
	g := newGateway(t, session.Config{})
	if st := g.state("a"); st.State != session.StateFree || st.Name != "a" || st.Holder != nil || st.Mode != "" {
		t.Errorf("a name never used = %+v, want free, without holder", st)
	}
	l := into[lock](t, g.must(201, request{method: "PUT", path: "/v1/locks/a?note=mine", unix: true}))
	waiter := make(chan answer, 1)
	go func() { waiter <- g.do(request{method: "PUT", path: "/v1/locks/a?wait=1m&note=next"}) }()
	until(t, "the caller waits", func() bool { return g.m.Stats().Waiters == 1 })
	st := g.state("a")
	if st.State != session.StateHeld || st.Mode != "exclusive" || st.Fence != l.Fence || st.TTLMS <= 0 || st.Waiters != 1 {
		t.Errorf("status = %+v, want held, exclusive, fence %d, a ttl, one waiter", st, l.Fence)
	}
	if st.Holder == nil || st.Holder.Owner != l.Owner || st.Holder.Note != "mine" || st.Holder.PID == 0 || st.Holder.Since.IsZero() {
		t.Errorf("holder = %+v, want the owner with note, pid and since", st.Holder)
	}
	if len(st.Queue) != 1 || st.Queue[0].Note != "next" || st.Queue[0].UID != nil {
		t.Errorf("queue = %+v, want one, with its note, of unknown uid", st.Queue)
	}
	g.must(200, request{method: "DELETE", path: "/v1/locks/a", token: l.Token})
	if a := <-waiter; a.status != 201 {
		t.Errorf("the waiter got %d, want 201", a.status)
	}
}

func TestInspectWithoutStore(t *testing.T) {
	g := newGateway(t, session.Config{Timeout: 300 * time.Millisecond})
	g.store.down.Store(true)
	if st := g.state("a"); st.State != session.StateUnknown {
		t.Errorf("state = %s, want unknown", st.State)
	}
}

func TestCheck(t *testing.T) {
	g := newGateway(t, session.Config{})
	l := g.acquire("a", "")
	check := func(fence any) answer {
		return g.do(request{method: "GET", path: fmt.Sprintf("/v1/locks/a/check?fence=%v", fence)})
	}
	if a := check(l.Fence); a.status != 200 || a.header.Get("Lockgw-Fence") != fmt.Sprint(l.Fence) {
		t.Errorf("check of the newest fence = %d %s, want 200 and its header", a.status, a.body)
	}
	refused(t, check(l.Fence+1), 412, session.CodeFenceMismatch)
	g.must(200, request{method: "DELETE", path: "/v1/locks/a", token: l.Token})
	g.acquire("a", "")
	refused(t, check(l.Fence), 412, session.CodeFenceMismatch)
}

func TestList(t *testing.T) {
	g := newGateway(t, session.Config{})
	token := g.open()
	for _, name := range []string{"x1", "x2", "x3", "y"} {
		g.acquire(name, token)
	}
	list := func(query string) (names []string, next string) {
		page := into[struct {
			Items []status
			Next  string
		}](t, g.must(200, request{method: "GET", path: "/v1/locks" + query}))
		for _, st := range page.Items {
			names = append(names, st.Name)
		}
		return names, page.Next
	}
	if names, next := list(""); len(names) != 4 || next != "" {
		t.Errorf("all = %q, next %q, want four names on one page", names, next)
	}
	if names, _ := list("?prefix=x&state=held"); len(names) != 3 || strings.Contains(fmt.Sprint(names), "y") {
		t.Errorf("names that begin with x = %q, want three", names)
	}
	if names, _ := list("?state=free"); len(names) != 0 {
		t.Errorf("free = %q, want none", names)
	}
	seen := map[string]bool{}
	for cursor, pages := "", 0; ; pages++ {
		names, next := list("?prefix=x&limit=1&cursor=" + url.QueryEscape(cursor))
		for _, n := range names {
			seen[n] = true
		}
		if cursor = next; next == "" {
			break
		}
		if pages > 10 {
			t.Fatal("the pages do not end")
		}
	}
	if len(seen) != 3 {
		t.Errorf("names over all pages = %v, want three", seen)
	}
}

// The next of a page fits into a URL, whatever its names are.
func TestListLongNames(t *testing.T) {
	g := newGateway(t, session.Config{})
	token, name := g.open(), strings.Repeat("<", session.MaxName-1)
	for _, last := range []string{"1", "2"} {
		g.acquire(url.PathEscape(name+last), token)
	}
	page := into[statusPage](t, g.must(200, request{method: "GET", path: "/v1/locks?limit=1"}))
	page = into[statusPage](t, g.must(200, request{method: "GET", path: "/v1/locks?limit=1&cursor=" + page.Next}))
	if len(page.Items) != 1 || page.Items[0].Name != name+"2" || page.Next != "" {
		t.Errorf("second page = %+v, want the second name, and no more", page)
	}
}

func TestListWithoutStore(t *testing.T) {
	g := newGateway(t, session.Config{Timeout: 300 * time.Millisecond})
	g.store.down.Store(true)
	refused(t, g.do(request{method: "GET", path: "/v1/locks"}), 503, session.CodeUnavailable)
	refused(t, g.do(request{method: "GET", path: "/v1/locks/a/check?fence=1"}), 503, session.CodeUnavailable)
}
