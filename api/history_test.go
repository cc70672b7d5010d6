package api

import (
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/api/past"
	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/session/history"
)

type historyAnswer struct {
	Name    string         `json:"name"`
	Node    string         `json:"node"`
	Totals  past.Totals    `json:"totals"`
	Counted int            `json:"counted"`
	Items   []past.Attempt `json:"items"`
	Next    string         `json:"next"`
}

// remembering is a gateway that keeps a history.
func remembering(t *testing.T, change ...func(*Config)) *gateway {
	t.Helper()
	h, err := history.Open(history.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	g := newGateway(t, session.Config{History: h}, append(change, func(c *Config) { c.History = h })...)
	t.Cleanup(h.Close)
	return g
}

// Why was my job late? It says when it asked, behind whom it waited, and how it went
// on; and whoever reads that learns no token.
func TestHistory(t *testing.T) {
	g := remembering(t)
	first := g.acquire("nightly", "")
	token := g.open()
	done := make(chan answer)
	go func() {
		done <- g.do(request{method: "PUT", path: "/v1/locks/nightly?wait=1m&note=report", token: token})
	}()
	until(t, "the second waits", func() bool { return g.state("nightly").Waiters == 1 })
	time.Sleep(150 * time.Millisecond)
	g.must(200, request{method: "DELETE", path: "/v1/locks/nightly", token: first.Token})
	second := into[lock](t, <-done)
	refused(t, g.do(request{method: "PUT", path: "/v1/locks/nightly"}), 423, session.CodeLocked)

	answer := g.must(200, request{method: "GET", path: "/v1/locks/nightly/history"})
	h := into[historyAnswer](t, answer)
	if h.Name != "nightly" || h.Node != "host-a" || len(h.Items) != 3 || h.Totals.Attempts != 3 || h.Totals.Refused != 1 {
		t.Fatalf("history %+v, want three attempts of host-a, one refused", h)
	}
	late := h.Items[1]
	if late.Owner != second.Owner || late.Note != "report" || late.Outcome != string(history.Holding) || late.WaitedMS < 100 || late.Fence != uint64(second.Fence) {
		t.Errorf("the second attempt %+v, want one that waited and holds", late)
	}
	if len(late.Behind) != 1 || late.Behind[0].Owner != first.Owner || late.Behind[0].Until.IsZero() {
		t.Errorf("behind %+v, want the first holder until its release", late.Behind)
	}
	if no := h.Items[0]; no.Outcome != string(history.Refused) || no.Reason != "locked" || len(no.Behind) > 1 {
		t.Errorf("the try %+v, want it refused: locked", no)
	}
	for _, secret := range []string{token, first.Token} {
		if strings.Contains(answer.body, secret) {
			t.Error("the answer has a token in it")
		}
	}
	page := into[historyAnswer](t, g.must(200, request{method: "GET", path: "/v1/locks/nightly/history?limit=2"}))
	rest := into[historyAnswer](t, g.must(200, request{method: "GET", path: "/v1/locks/nightly/history?limit=2&cursor=" + page.Next}))
	if len(page.Items) != 2 || len(rest.Items) != 1 || rest.Items[0].Owner != first.Owner || rest.Next != "" {
		t.Errorf("pages of %d and %d, next %q; want 2 and the first", len(page.Items), len(rest.Items), rest.Next)
	}
	if nothing := into[historyAnswer](t, g.must(200, request{method: "GET", path: "/v1/locks/other/history?all=true"})); len(nothing.Items) != 0 {
		t.Errorf("another lock has %+v, want nothing", nothing)
	}
	contended := into[struct {
		Items []struct {
			Name string `json:"name"`
			past.Totals
		} `json:"items"`
	}](t, g.must(200, request{method: "GET", path: "/v1/history?since=7d"}))
	if len(contended.Items) != 1 || contended.Items[0].Name != "nightly" || contended.Items[0].Waited.WorstMS < 100 {
		t.Errorf("contended %+v, want nightly", contended)
	}
	g.refuseAll([]badRequest{
		{request: request{method: "GET", path: "/v1/locks/nightly/history?since=0"}, status: 400, code: session.CodeInvalid, detail: "since: "},
		{request: request{method: "GET", path: "/v1/locks/nightly/history?cursor=x"}, status: 400, code: session.CodeInvalid, detail: "cursor: "},
		{request: request{method: "GET", path: "/v1/history?limit=1001"}, status: 400, code: session.CodeInvalid, detail: "limit: "},
		{request: request{method: "GET", path: "/v1/history?wrong=1"}, status: 400, code: session.CodeInvalid, detail: "wrong: "},
	})
}

// Without a history the answer says by which keys it was switched off.
func TestNoHistory(t *testing.T) {
	g := newGateway(t, session.Config{})
	for _, path := range []string{"/v1/locks/nightly/history", "/v1/history"} {
		p := refused(t, g.do(request{method: "GET", path: path}), 501, session.CodeUnsupported)
		if !strings.Contains(p.Detail, "history.keep") {
			t.Errorf("%s: detail %q does not name the key", path, p.Detail)
		}
	}
}

// The list of contended locks has only those that its caller may look at.
func TestContendedIsFiltered(t *testing.T) {
	_, with := withControl(t, robotConfig(t))
	g := remembering(t, with)
	s, _, err := g.m.Open(session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"hidden", "shown", "mine-a"} {
		if _, err := s.Acquire(t.Context(), name, session.Acquire{}); err != nil {
			t.Fatal(err)
		}
	}
	a := g.must(200, request{method: "GET", path: "/v1/history", token: robot})
	if strings.Contains(a.body, "hidden") || !strings.Contains(a.body, "shown") || !strings.Contains(a.body, "mine-a") {
		t.Errorf("the robot sees %s, want shown and mine-a", a.body)
	}
}
