//go:build browser

package web_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/lockgw/lockgw/cmd/lockgw/e2e"
)

const (
	patience   = e2e.Patience
	adminToken = "a-secret-of-more-than-16-characters"
)

// program builds lockgw.
func program(t *testing.T) string {
	t.Helper()
	path, err := e2e.Build(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// gateway is a real one, on ports and sockets of its own.
type gateway struct {
	*e2e.Gateway
	t   *testing.T
	url string
}

const gatewayConfig = `http: {listen: ["%[1]s"]}
admin: {token_file: "%[2]s"}
log: {level: error}
`

func startGateway(t *testing.T, program string, more ...string) *gateway {
	t.Helper()
	addr := freeAddress(t)
	config := fmt.Sprintf(gatewayConfig, addr, e2e.SecretFile(t, adminToken))
	g := &gateway{e2e.NewGateway(t, e2e.ShortDir(t), "host-a", program, config), t, "http://" + addr}
	g.Args = more
	if err := g.Start(); err != nil {
		t.Fatal(err)
	}
	if err := g.Await(t.Context()); err != nil {
		t.Fatal(err)
	}
	return g
}

func freeAddress(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}

// start runs lockgw until the test ends.
func (g *gateway) start(args ...string) *os.Process {
	g.t.Helper()
	cmd := exec.Command(g.Program, args...)
	cmd.Env = append(os.Environ(), "LOCKGW_SOCKET="+g.Socket(), "TZ=UTC")
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	return cmd.Process
}

// run holds name, or waits for it, until the test ends.
func (g *gateway) run(name string, more ...string) *os.Process {
	g.t.Helper()
	before := g.callers(name)
	args := append([]string{"run", name, "-q", "--wait", "1h"}, more...)
	p := g.start(append(args, "--", "sleep", "600")...)
	g.until(name+" has one caller more", func() bool { return g.callers(name) == before+1 })
	return p
}

// command is the process that the holder of name, granted after that fence, runs under
// the lock. lockgw run is shown by its own process while it waits, and by its command
// once that has started.
func (g *gateway) command(name string, after uint64) (pid int) {
	g.t.Helper()
	g.until("the next holder of "+name+" is shown by its command", func() bool {
		st := g.status(name)
		if st.Holder == nil || st.Fence <= after {
			return false
		}
		pid = st.Holder.PID
		comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
		return err == nil && string(comm) == "sleep\n"
	})
	return pid
}

// open opens a session that holds nothing.
func (g *gateway) open(name, keepalive string) {
	g.t.Helper()
	body := fmt.Sprintf(`{"name":%q,"keepalive":%q,"meta":{"team":"storage"}}`, name, keepalive)
	resp, err := http.Post(g.url+"/v1/sessions", "application/json", strings.NewReader(body))
	if err != nil {
		g.t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusCreated {
		g.t.Fatalf("open a session: status = %d, want 201", resp.StatusCode)
	}
}

// fill takes n locks, by sessions of some hundred each.
func (g *gateway) fill(n int) {
	g.t.Helper()
	const each = 500
	for from := 0; from < n; from += each {
		names := make([]string, min(each, n-from))
		for i := range names {
			names[i] = fmt.Sprintf("tenants/%04d/import", from+i)
		}
		body, err := json.Marshal(map[string]any{"names": names, "max_hold": "1h", "note": "import.py"})
		if err != nil {
			g.t.Fatal(err)
		}
		resp, err := http.Post(g.url+"/v1/multilocks", "application/json", bytes.NewReader(body))
		if err != nil {
			g.t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusCreated {
			g.t.Fatalf("take %d locks: status = %d, want 201", len(names), resp.StatusCode)
		}
	}
}

type status struct {
	State   string
	Waiters int
	Holders int
	Fence   uint64
	Holder  *struct{ PID int }
}

func (g *gateway) status(name string) (st status) {
	g.t.Helper()
	resp, err := http.Get(g.url + "/v1/locks/" + name)
	if err != nil {
		g.t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&st); err != nil {
		g.t.Fatal(err)
	}
	return st
}

// callers are those that hold or wait.
func (g *gateway) callers(name string) int {
	st := g.status(strings.ReplaceAll(name, "/", "%2F"))
	if st.State == "held" {
		return st.Waiters + 1
	}
	return st.Waiters
}

func (g *gateway) until(what string, f func() bool) {
	g.t.Helper()
	for end := time.Now().Add(patience); !f(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			g.t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

// startBrowser starts Chromium, without any window.
func startBrowser(t *testing.T) context.Context {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.NoSandbox, chromedp.WSURLReadTimeout(patience), chromedp.Flag("lang", "en-GB"),
		chromedp.Env("TZ=UTC", "DBUS_SESSION_BUS_ADDRESS=unix:path=/nonexistent"))
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	// It logs as an error what a newer browser tells and it does not know.
	ctx, stop := chromedp.NewContext(ctx, chromedp.WithErrorf(func(string, ...any) {}))
	t.Cleanup(stop)
	if err := chromedp.Run(ctx); err != nil {
		t.Fatalf("start chromium: %v", err)
	}
	return ctx
}

// tab is a page, and what it complained about.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu       sync.Mutex // guards the fields below
	problems []string
	foreign  []string // requests to anything but the gateway
}

func openTab(t *testing.T, browser context.Context, url string, width, height int64, first ...chromedp.Action) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser)
	t.Cleanup(cancel)
	ctx, stop := context.WithTimeout(ctx, 3*patience)
	t.Cleanup(stop)
	p := &tab{t: t, ctx: ctx}
	origin := strings.Join(strings.SplitN(url, "/", 4)[:3], "/")
	chromedp.ListenTarget(ctx, func(e any) { p.note(e, origin) })
	p.do(append(first, chromedp.EmulateViewport(width, height), cdplog.Enable(), network.Enable(), chromedp.Navigate(url))...)
	return p
}

func (p *tab) note(e any, origin string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := e.(type) {
	case *runtime.EventExceptionThrown:
		p.problems = append(p.problems, e.ExceptionDetails.Error())
	case *cdplog.EventEntryAdded:
		// An answer that is an error is part of the test where it is.
		if e.Entry.Level == cdplog.LevelError && e.Entry.Source != cdplog.SourceNetwork {
			p.problems = append(p.problems, e.Entry.Text)
		}
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(e.Request.URL, origin+"/") && !strings.HasPrefix(e.Request.URL, "data:") {
			p.foreign = append(p.foreign, e.Request.URL)
		}
	}
}

// quiet fails the test if the page has complained or has asked anybody else.
func (p *tab) quiet() {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.problems) > 0 || len(p.foreign) > 0 {
		p.t.Errorf("the page complained %q and asked %q, want neither", p.problems, p.foreign)
	}
}

func (p *tab) do(actions ...chromedp.Action) {
	p.t.Helper()
	if err := chromedp.Run(p.ctx, actions...); err != nil {
		p.t.Fatalf("browser: %v", err)
	}
}

// eval is the value of a JavaScript expression.
func eval[T any](p *tab, expression string) (v T) {
	p.t.Helper()
	p.do(chromedp.Evaluate(expression, &v))
	return v
}

// await waits until an expression is true.
func (p *tab) await(expression string) {
	p.t.Helper()
	for end := time.Now().Add(patience); !eval[bool](p, "Boolean("+expression+")"); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			p.t.Fatalf("not within %v: %s\nthe page shows:\n%s", patience, expression, p.text("body"))
		}
	}
}

// text is what a person sees of the first element that matches.
func (p *tab) text(selector string) string {
	p.t.Helper()
	return eval[string](p, fmt.Sprintf("document.querySelector(%q)?.innerText ?? ''", selector))
}

// awaitText waits until the text of an element contains what is wanted.
func (p *tab) awaitText(selector, want string) {
	p.t.Helper()
	p.await(fmt.Sprintf("document.querySelector(%q)?.innerText.includes(%q)", selector, want))
}

// press presses a key, as often as it is named.
func (p *tab) press(keys ...string) {
	p.t.Helper()
	for _, k := range keys {
		p.do(chromedp.KeyEvent(k))
	}
}
