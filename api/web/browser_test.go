//go:build browser

package web_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/lockgw/lockgw/backend/redis/redistest"
	"github.com/lockgw/lockgw/cmd/lockgw/e2e"
)

// TestBrowser looks at the pages of a real gateway in a real browser.
func TestBrowser(t *testing.T) {
	program, browser := program(t), startBrowser(t)
	open := func(t *testing.T, g *gateway, path string, first ...chromedp.Action) *tab {
		return openTab(t, browser, g.url+path, 1280, 900, first...)
	}

	// A lock that is held and one that begins to wait are seen without a reload.
	t.Run("live", func(t *testing.T) {
		g := startGateway(t, program)
		p := open(t, g, "/")
		p.awaitText("#locks-empty", "No lock is held")
		holder := g.run("nightly")
		p.awaitText("#locks-table", "nightly")
		for _, want := range []string{"held", "host-a", "(sleep)", "s left", fmt.Sprint(g.status("nightly").Fence)} {
			if got := p.text("#locks-table tbody tr"); !strings.Contains(got, want) {
				t.Errorf("row = %q, want %q in it", got, want)
			}
		}
		p.await(`document.querySelector('#announce').textContent.includes('nightly is held by host-a')`)
		g.run("nightly")
		p.await(`document.querySelector('#locks-table tbody tr').cells[5].textContent === '1'`)
		p.await(`document.querySelector('#announce').textContent.includes('nightly has 1 waiting')`)
		p.do(chromedp.Navigate(g.url + "/#/locks/nightly"))
		p.awaitText("#lock-queue", "host-a")
		_ = holder.Signal(syscall.SIGTERM)
		p.awaitText("#history-table tbody", "acquired")
		p.awaitText("#lock-queue-note", "Nobody waits")
		p.do(chromedp.Navigate(g.url + "/#/sessions"))
		p.awaitText("#sessions-table tbody", "nightly")
		p.do(chromedp.Navigate(g.url + "/#/health"))
		p.awaitText("#health-checks", "store")
		p.awaitText("#health-state", "ready")
		p.quiet()
	})

	// The filter, and names that are not plain.
	t.Run("names", func(t *testing.T) {
		g := startGateway(t, program)
		odd := `<b>"quotes"/and%20more?#&'`
		g.start("run", odd, "-q", "--", "sleep", "600")
		g.run("reports")
		p := open(t, g, "/")
		p.awaitText("#locks-table", odd)
		p.do(chromedp.SendKeys("#find", "EPO"))
		p.await(`document.querySelectorAll('#locks-table tbody tr').length === 1`)
		p.awaitText("#locks-table tbody", "reports")
		p.do(chromedp.SendKeys("#find", "x"))
		p.awaitText("#locks-empty", "has EPOx in its name")
		p.press(kb.Backspace, kb.Backspace, kb.Backspace, kb.Backspace)
		p.await(`document.querySelectorAll('#locks-table tbody tr').length === 2`)
		p.do(chromedp.Click("#locks-table tbody a"))
		p.awaitText("#lock-title", odd)
		p.awaitText("#lock-facts", "(sleep)")
		p.quiet()
	})

	// All who hold a lock together are named.
	t.Run("together", func(t *testing.T) {
		g := startGateway(t, program)
		for _, note := range []string{"first.sh", "second.sh", "third.sh"} {
			g.start("run", "-s", "stock", "-q", "--note", note, "--", "sleep", "600")
		}
		g.until("stock has three holders", func() bool { return g.status("stock").Holders == 3 })
		p := open(t, g, "/#/locks/stock")
		p.awaitText("#lock-state", "shared by 3")
		p.awaitText("#holder-title", "Holders")
		for _, want := range []string{"first.sh", "second.sh", "third.sh", fmt.Sprint(g.status("stock").Fence), "of the lease left"} {
			p.awaitText("#lock-holders", want)
		}
		p.await(`document.querySelector('#lock-facts').hidden`)
		p.do(chromedp.Click("#lock-break"))
		p.awaitText("#confirm-dialog", "The newest of its 3 holders loses the lock; the others keep it.")
		p.press(kb.Escape)
		p.do(chromedp.Navigate(g.url + "/#/sessions"))
		p.awaitText("#sessions-count", "at least 1 session")
		p.awaitText("#sessions-part", "only the newest is here")
		p.do(chromedp.Click("#admin"))
		p.press(adminToken, kb.Enter)
		p.await(`document.querySelector('#sessions-count').textContent === '3 sessions'`)
		p.await(`document.querySelector('#sessions-part').hidden`)
		p.do(chromedp.Navigate(g.url + "/#/locks/stock"))
		p.await(`[...document.querySelectorAll('#history-table tbody tr')].filter((row) => row.cells[2].textContent.startsWith('host-a pid ')).length === 3`)
		p.quiet()
	})

	// Breaking a lock with the keyboard alone: a wrong token says why it is
	// refused, the right one gives the lock to the next.
	t.Run("break", func(t *testing.T) {
		g := startGateway(t, program)
		g.run("nightly")
		next := g.run("nightly")
		fence := g.status("nightly").Fence
		p := open(t, g, "/")
		p.awaitText("#locks-table", "nightly")
		p.tabTo("#locks-table tbody a")
		p.press(kb.Enter)
		p.await(`document.activeElement.id === 'lock-title'`)
		p.await(`!document.querySelector('#lock-break').disabled`)
		p.tabTo("#lock-break")
		p.press(kb.Enter)
		for _, want := range []string{"nightly", "host-a pid", fmt.Sprint(fence), fmt.Sprintf("pid %d", next.Pid)} {
			p.awaitText("#confirm-facts", want)
		}
		p.press("wrong-token-wrong-token", kb.Enter)
		p.awaitText("#confirm-error", "the token that was sent is not the admin token")
		if got := g.status("nightly").Fence; got != fence {
			t.Errorf("after a wrong token: fence = %d, want %d", got, fence)
		}
		p.press(kb.Escape)
		p.await(`!document.querySelector('#confirm-dialog').open && document.activeElement.id === 'lock-break'`)
		p.press(kb.Enter)
		p.await(`document.querySelector('#confirm-dialog').open`)
		p.press(adminToken, kb.Enter)
		p.await(`!document.querySelector('#confirm-dialog').open`)
		p.await(fmt.Sprintf(`performance.getEntriesByType('resource').some((r) => new URL(r.name).searchParams.get('owner') ?.endsWith(':1'))`))
		p.awaitText("#lock-facts", fmt.Sprintf("pid %d", g.command("nightly", fence)))
		p.awaitText("#live", "by events")
		p.awaitText("#history-table tbody", "lost")
		p.awaitText("#history-table tbody", "broken")
		if got := eval[string](p, `JSON.stringify({...localStorage, ...sessionStorage}) + document.cookie`); got != "{}" {
			t.Errorf("the page has stored %s, want nothing", got)
		}
		p.quiet()
	})

	// A hold that has changed since the dialog was opened is not broken.
	t.Run("fence", func(t *testing.T) {
		g := startGateway(t, program)
		first := g.run("nightly")
		g.run("nightly")
		fence := g.status("nightly").Fence
		p := open(t, g, "/#/locks/nightly")
		p.await(`!document.querySelector('#lock-break').disabled`)
		p.do(chromedp.Click("#lock-break"))
		p.await(`document.querySelector('#confirm-dialog').open`)
		_ = first.Signal(syscall.SIGTERM)
		g.until("the next one has it", func() bool { return g.status("nightly").Fence > fence })
		p.press(adminToken, kb.Enter)
		p.awaitText("#confirm-error", "fence")
		if st := g.status("nightly"); st.State != "held" {
			t.Errorf("state = %s, want the new hold untouched", st.State)
		}
		p.quiet()
	})

	// An administrator is told what was before the page was opened, and follows
	// a gateway that comes back.
	t.Run("administrator", func(t *testing.T) {
		g := startGateway(t, program)
		_ = g.run("nightly").Signal(syscall.SIGTERM)
		g.until("nightly is free", func() bool { return g.status("nightly").State == "free" })
		p := open(t, g, "/#/locks/nightly")
		p.do(chromedp.Click("#admin"))
		p.press("nonsense-nonsense-nonsense", kb.Enter)
		p.awaitText("#admin-error", "the token that was sent is not the admin token")
		p.press(kb.Escape)
		p.do(chromedp.Click("#admin"))
		p.press(adminToken, kb.Enter)
		p.awaitText("#admin", "on")
		p.awaitText("#history-table tbody", "released")
		p.do(chromedp.Click("#admin"), chromedp.Click("#admin-forget"))
		p.awaitText("#live", "every 2 s")
		p.quiet()
	})

	// A token is what is in the file, byte for byte, whatever the letters.
	t.Run("letters", func(t *testing.T) {
		token := "žádný-ключ-🔒-geheim"
		g := startGateway(t, program, "--admin-token-file", e2e.SecretFile(t, token))
		p := open(t, g, "/")
		p.do(chromedp.Click("#admin"))
		p.press("žádný", kb.Enter)
		p.awaitText("#admin-error", "the token that was sent is not the admin token")
		p.do(chromedp.SetValue("#admin-token", token), chromedp.Focus("#admin-token"))
		p.press(kb.Enter)
		p.awaitText("#admin", "on")
		p.quiet()
	})

	// An administrator sees every session and what it lives by, and ends one with the
	// keyboard alone: its command is stopped, and the next has the lock.
	t.Run("sessions", func(t *testing.T) {
		g := startGateway(t, program)
		g.run("nightly")
		holder, fence := g.command("nightly", 0), g.status("nightly").Fence
		g.run("nightly")
		g.open("jobs", "10m")
		p := open(t, g, "/#/sessions")
		p.awaitText("#sessions-table tbody", "nightly")
		if got := p.text("#sessions-table"); strings.Contains(got, "jobs") || strings.Contains(got, "Lives by") || strings.Contains(got, "End") {
			t.Errorf("without the token: %q, want the sessions that locks tell of, and nothing to end them", got)
		}
		p.do(chromedp.Click("#admin"))
		p.press(adminToken, kb.Enter)
		for _, want := range []string{"jobs", "team=storage", "keepalive, 9m", "process ", "Lives by", fmt.Sprintf("pid %d", holder)} {
			p.awaitText("#sessions-table", want)
		}
		p.awaitText("#sessions-count", "3 sessions")
		for _, complaint := range eval[[]string](p, audit) {
			t.Errorf("sessions: %s", complaint)
		}
		id := eval[string](p, fmt.Sprintf(`[...document.querySelectorAll('#sessions-table tbody tr')].find((row) => row.textContent.includes('pid %d')).cells[1].textContent`, holder))
		button := fmt.Sprintf(`button[aria-label="End the session %s"]`, id)
		p.tabTo(button)
		p.press(kb.Enter)
		for _, want := range []string{id, "nightly", "host-a pid", "process "} {
			p.awaitText("#confirm-facts", want)
		}
		p.awaitText("#confirm-title", "End this session?")
		for _, complaint := range eval[[]string](p, audit) {
			t.Errorf("dialog: %s", complaint)
		}
		p.press(kb.Escape)
		p.await(fmt.Sprintf(`!document.querySelector('#confirm-dialog').open && document.activeElement.matches(%q)`, button))
		if st := g.status("nightly"); st.Waiters != 1 {
			t.Errorf("after Escape: %+v, want nothing changed", st)
		}
		p.press(kb.Enter)
		p.do(chromedp.Click("#confirm-dialog button[type=submit]"))
		p.await(`!document.querySelector('#confirm-dialog').open && document.activeElement.id === 'sessions-title'`)
		p.awaitText("#sessions-count", "2 sessions")
		p.await(fmt.Sprintf(`!document.querySelector('#sessions-table').textContent.includes('pid %d')`, holder))
		p.awaitText("#sessions-table", fmt.Sprintf("pid %d", g.command("nightly", fence)))
		p.do(chromedp.Click("#admin"), chromedp.Click("#admin-forget"))
		p.await(`!document.querySelector('#sessions-table').textContent.includes('jobs')`)
		p.quiet()
	})

	// Without a gateway the page says so, and of when it is what it shows.
	t.Run("gone", func(t *testing.T) {
		g := startGateway(t, program)
		g.run("nightly")
		p := open(t, g, "/")
		p.awaitText("#locks-table", "nightly")
		g.Signal(syscall.SIGTERM)
		p.awaitText("#banner", "The gateway does not answer. What is shown is of ")
		p.awaitText("#live", "Not live")
	})

	// A key of a program that knows nothing of lockgw is a lock, but nobody's session.
	t.Run("outside", func(t *testing.T) {
		store := redistest.Start(t)
		g := startGateway(t, program, "--backend-url", store.URL())
		if err := store.Client().Set(t.Context(), "outside", "x", time.Hour).Err(); err != nil {
			t.Fatal(err)
		}
		g.start("run", "outside", "-q", "--wait", "1h", "--", "true")
		p := open(t, g, "/")
		p.awaitText("#locks-table", "a program outside lockgw")
		p.do(chromedp.Navigate(g.url + "/#/sessions"))
		p.awaitText("#sessions-table", "outside")
		p.await(`document.querySelector('#sessions-count').textContent === '1 session'`)
		p.awaitText("#sessions-table tbody tr", "host-a")
		p.quiet()
	})

	// Without its store the page tells why, and recovers with it.
	t.Run("store", func(t *testing.T) {
		store := redistest.Start(t)
		g := startGateway(t, program, "--backend-url", store.URL())
		g.run("nightly", "--ttl", "5m")
		p := open(t, g, "/")
		p.awaitText("#locks-table", "nightly")
		store.Pause()
		p.awaitText("#banner", "What is shown is of ")
		p.do(chromedp.Navigate(g.url + "/#/health"))
		p.awaitText("#health-state", "not ready")
		p.awaitText("#health-checks", "failed: ")
		store.Resume()
		p.awaitText("#health-state", "ready")
		p.await(`document.querySelector('#banner').hidden`)
		p.quiet()
	})

	t.Run("phone", func(t *testing.T) {
		g := startGateway(t, program)
		long := "a-rather-long-lock-name/with-parts/" + strings.Repeat("x", 120)
		g.start("run", long, "-q", "--note", strings.Repeat("note", 40), "--", "sleep", "600")
		g.run("nightly")
		g.run("nightly")
		p := openTab(t, browser, g.url+"/", 320, 844)
		p.awaitText("#locks-table", long)
		for _, path := range []string{"/#/locks", "/#/locks/nightly", "/#/locks/" + strings.ReplaceAll(long, "/", "%2F"), "/#/sessions", "/#/health", "/docs"} {
			p.do(chromedp.Navigate(g.url + path))
			if path == "/#/locks/nightly" {
				p.awaitText("#lock-queue", "host-a")
			}
			if wide := eval[int](p, `document.scrollingElement.scrollWidth`); wide > 320 {
				t.Errorf("%s is %d px wide, want at most the 320 of a small phone", path, wide)
			}
		}
		p.do(chromedp.Navigate(g.url+"/#/sessions"), chromedp.Click("#admin"))
		p.press(adminToken, kb.Enter)
		p.awaitText("#sessions-table", "process ")
		if wide := eval[int](p, `document.scrollingElement.scrollWidth`); wide > 320 {
			t.Errorf("the sessions of an administrator are %d px wide, want at most the 320 of a small phone", wide)
		}
		p.quiet()
	})

	// Thousands of locks: the page pages, sorts and counts all of them, and stays live.
	t.Run("many", func(t *testing.T) {
		store := redistest.Start(t)
		g := startGateway(t, program, "--backend-url", store.URL())
		g.fill(5000)
		g.run("zz-late")
		g.run("zz-late")
		p := open(t, g, "/")
		p.awaitText("#locks-count", "5,001 held, 1 caller waiting")
		p.awaitText("#page-of", "1 to 100 of 5,001")
		p.do(chromedp.Click("#page-on"))
		p.awaitText("#page-of", "101 to 200 of 5,001")
		p.awaitText("#locks-table tbody", "tenants/0100/import")
		p.do(chromedp.Click("#page-back"))
		p.awaitText("#locks-table tbody", "tenants/0000/import")
		p.do(chromedp.Click(`button[data-sort="waiters"]`))
		p.await(`document.querySelector('#locks-table tbody tr').cells[0].textContent === 'zz-late'`)
		p.await(`document.querySelector('#locks-table th[aria-sort]').getAttribute('aria-sort') === 'descending'`)
		p.do(chromedp.SendKeys("#find", "0042"))
		p.awaitText("#locks-count", "1 held")
		// How often it looks is what it says, and not much seldomer than with few locks.
		p.await(`/Live, every ([2-9]|1\d) s/.test(document.querySelector('#live').textContent)`)
		p.quiet()
	})

	// Who has used the skip link and then loads the page anew has the locks again.
	t.Run("skip link", func(t *testing.T) {
		g := startGateway(t, program)
		g.run("nightly")
		p := open(t, g, "/")
		p.tabTo(".skip")
		p.press(kb.Enter)
		p.await(`location.hash === '#main'`)
		p.do(chromedp.Reload())
		p.awaitText("#locks-table", "nightly")
		p.awaitText("#live", "every 2 s")
		p.quiet()
	})

	// An address that leads nowhere, and a name that is none, are told.
	t.Run("nowhere", func(t *testing.T) {
		g := startGateway(t, program)
		p := open(t, g, "/#/lokcs")
		p.awaitText("#nowhere", "nothing at #/lokcs")
		p.do(chromedp.Navigate(g.url + "/#/locks/"))
		p.awaitText("#nowhere", "names no lock")
		p.do(chromedp.Navigate(g.url + "/#/locks/two%20words"))
		p.awaitText("#lock-trouble", "No lock can have this name")
		p.do(chromedp.Navigate(g.url + "/#/locks/nigthly"))
		p.awaitText("#lock-trouble", "look whether the name is right")
		p.awaitText("#place", "host-a · memory:// · locks for this machine only")
		p.quiet()
	})

	// A name that a browser takes for a step in the address is one that the page cannot ask for, and says so.
	t.Run("steps", func(t *testing.T) {
		g := startGateway(t, program)
		for _, name := range []string{".", ".."} {
			g.start("run", name, "-q", "--", "sleep", "600")
		}
		g.run("nightly")
		p := open(t, g, "/")
		p.awaitText("#locks-count", "3 held")
		p.do(chromedp.Navigate(g.url + "/#/locks/nightly"))
		p.awaitText("#late-note", "1 attempt")
		for _, name := range []string{".", ".."} {
			p.do(chromedp.Navigate(g.url + "/#/locks/" + name))
			p.awaitText("#lock-title", name)
			p.awaitText("#lock-trouble", "takes it for a step in the address")
			p.awaitText("#lock-curl", "curl --path-as-is -N -X POST '"+g.url+"/v1/locks/"+name+"/hold'")
			p.await(`document.querySelector('#lock-break').disabled && document.querySelector('#late-note').textContent === ''`)
			p.await(`performance.getEntriesByType('resource').filter((r) => r.name.endsWith('/version')).length > 2`)
			p.awaitText("#live", "every 2 s")
		}
		p.do(chromedp.Navigate(g.url + "/#/locks"))
		p.awaitText("#locks-table", "..")
		p.quiet()
	})

	// Without an admin token there is none to ask for.
	t.Run("no admin token", func(t *testing.T) {
		g := startGateway(t, program, "--admin-token-file", "")
		g.run("nightly")
		p := open(t, g, "/#/locks/nightly")
		p.await(`!document.querySelector('#lock-break').disabled`)
		p.do(chromedp.Click("#admin"))
		p.awaitText("#admin-none", "has no admin token")
		p.await(`document.querySelector('#admin-token-label').hidden`)
		p.press(kb.Escape)
		p.do(chromedp.Click("#lock-break"))
		p.awaitText("#confirm-none", "admin.token_file is not set")
		p.await(`document.querySelector('#confirm-dialog button[type=submit]').disabled`)
		p.quiet()
	})

	t.Run("docs", func(t *testing.T) {
		g := startGateway(t, program)
		p := open(t, g, "/docs")
		for _, want := range []string{"Acquire a lock", "PUT /v1/locks/{name}", "curl -N -X POST localhost:7420/v1/locks/nightly/hold", "LockStatus"} {
			p.awaitText("main", want)
		}
		if broken := eval[[]string](p, `[...document.querySelectorAll('a[href^="#"]')].map((a) => a.hash.slice(1)).filter((id) => !document.getElementById(id))`); len(broken) > 0 {
			t.Errorf("links to nothing: %q", broken)
		}
		p.quiet()
	})

	for _, scheme := range []string{"light", "dark"} {
		t.Run("accessible "+scheme, func(t *testing.T) {
			g := startGateway(t, program)
			g.run("nightly")
			g.run("nightly")
			look := emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}})
			p := open(t, g, "/", look)
			p.awaitText("#locks-table", "nightly")
			for _, path := range []string{"/#/locks", "/#/locks/nightly", "/#/sessions", "/#/health", "/docs"} {
				p.do(chromedp.Navigate(g.url + path))
				p.await(`document.querySelectorAll('h1').length > 0`)
				for _, complaint := range eval[[]string](p, audit) {
					t.Errorf("%s: %s", path, complaint)
				}
			}
			p.do(chromedp.Navigate(g.url + "/#/locks/nightly"))
			p.await(`document.querySelector('#lock-break') && !document.querySelector('#lock-break').disabled`)
			p.do(chromedp.Click("#lock-break"))
			p.await(`document.querySelector('#confirm-dialog').open`)
			for _, complaint := range eval[[]string](p, audit) {
				t.Errorf("dialog: %s", complaint)
			}
			p.press(adminToken, kb.Escape)
			p.do(chromedp.Navigate(g.url+"/#/sessions"), chromedp.Click("#admin"))
			p.press(adminToken, kb.Enter)
			p.awaitText("#sessions-table", "Lives by")
			for _, complaint := range eval[[]string](p, audit) {
				t.Errorf("sessions of an administrator: %s", complaint)
			}
			p.quiet()
		})
	}
}

// tabTo presses Tab until the element has the focus, and wants the focus to be
// seen on the way.
func (p *tab) tabTo(selector string) {
	p.t.Helper()
	for range 40 {
		p.press(kb.Tab)
		if style := eval[string](p, `getComputedStyle(document.activeElement).outlineStyle`); style == "none" {
			p.t.Errorf("the focus on %s is not seen", eval[string](p, `document.activeElement.outerHTML`))
		}
		if eval[bool](p, fmt.Sprintf("document.activeElement.matches(%q)", selector)) {
			return
		}
	}
	p.t.Fatalf("the keyboard does not reach %s", selector)
}
