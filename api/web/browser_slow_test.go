//go:build browser

package web_test

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// What the page shows while it has no answer, or not yet.
func TestBrowserSlow(t *testing.T) {
	program, browser := program(t), startBrowser(t)
	open := func(t *testing.T, g *gateway, path string) *tab {
		return openTab(t, browser, g.url+path, 1280, 900)
	}

	// Who clicks again before the next page is there gets that page, and is told which it is.
	t.Run("clicks", func(t *testing.T) {
		g := startGateway(t, program)
		g.fill(350)
		p := open(t, g, "/")
		p.awaitText("#page-of", "1 to 100 of 350")
		eval[any](p, `for (let i = 0; i < 3; i++) document.querySelector('#page-on').click()`)
		p.awaitText("#locks-table tbody", "tenants/0100/import")
		p.awaitText("#page-of", "101 to 200 of 350")
		// The order of the next page is another one by then.
		eval[any](p, `document.querySelector('button[data-sort=fence]').click(); document.querySelector('#page-on').click()`)
		p.awaitText("#page-of", "1 to 100 of 350")
		p.await(`document.querySelector('#banner').hidden`)
		p.quiet()
	})

	// Until the next page is there, the pager tells which one is shown.
	t.Run("pager", func(t *testing.T) {
		g := startGateway(t, program)
		g.fill(150)
		p := open(t, g, "/")
		p.awaitText("#page-of", "1 to 100 of 150")
		eval[any](p, `window.fetch = () => new Promise(() => {}); document.querySelector('#page-on').click(); dispatchEvent(new Event('hashchange'))`)
		if got := p.text("#page-of"); got != "1 to 100 of 150" {
			t.Errorf("above the first page the pager says %q before there is another", got)
		}
	})

	// Without a gateway no page is live.
	t.Run("contention", func(t *testing.T) {
		g := startGateway(t, program)
		p := open(t, g, "/#/contended")
		p.awaitText("#contended-empty", "Nobody has asked")
		p.awaitText("#live", "Live, every 2 s")
		g.Signal(syscall.SIGTERM)
		p.awaitText("#banner", "The gateway does not answer.")
		p.awaitText("#live", "Not live")
	})

	// The time in the banner is that of what is shown.
	t.Run("of when", func(t *testing.T) {
		g := startGateway(t, program)
		g.run("nightly")
		for path, answer := range map[string]string{"/#/locks/nightly": "#late-note", "/#/sessions": "#sessions-table"} {
			p := open(t, g, "/")
			p.awaitText("#locks-table", "nightly")
			eval[any](p, `for (const clock of [performance, Date]) { const now = clock.now.bind(clock); clock.now = () => now() + 36e5; }`)
			p.do(chromedp.Navigate(g.url + path))
			p.awaitText(answer, "host-a")
			eval[any](p, `window.fetch = () => Promise.reject(new TypeError())`)
			p.awaitText("#banner", "What is shown is of "+time.Now().Add(time.Hour).UTC().Format("15:"))
		}
	})

	// What goes on is told by the clock of the gateway: that of the browser may be wrong.
	t.Run("clock", func(t *testing.T) {
		g := startGateway(t, program)
		g.run("nightly")
		p := open(t, g, "/")
		p.awaitText("#locks-table", "nightly")
		eval[any](p, `{ const now = Date.now; Date.now = () => now() + 2 * 36e5 }`)
		p.do(chromedp.Navigate(g.url + "/#/locks/nightly"))
		p.awaitText("#late-note", "1 attempt")
		if got, not := p.text(".late-ends span:last-child"), time.Now().Add(2*time.Hour).UTC().Format("15:"); strings.HasPrefix(got, not) {
			t.Errorf("the bars end at %s, which is to come", got)
		}
		p.do(chromedp.Click("#admin"))
		p.press(adminToken, kb.Enter)
		p.do(chromedp.Navigate(g.url + "/#/sessions"))
		p.awaitText("#sessions-table", "process ")
		if got := eval[string](p, `document.querySelector('#sessions-table tbody tr').cells[3].textContent`); strings.Contains(got, "2h") {
			t.Errorf("the session is open for %s, which began just now", got)
		}
		p.quiet()
	})

	// The times of one lock never stand under the name of another.
	t.Run("another lock", func(t *testing.T) {
		g := startGateway(t, program)
		g.run("first")
		g.run("second")
		p := open(t, g, "/#/locks/first")
		p.awaitText("#late-note", "1 attempt")
		eval[any](p, `{ const ask = fetch; window.fetch = (url, options) => String(url).includes('second') ? new Promise(() => {}) : ask(url, options); location.hash = '#/locks/second' }`)
		p.awaitText("#lock-title", "second")
		if note, bars := p.text("#late-note"), p.text("#late-bars"); note != "" || bars != "" {
			t.Errorf("of second it says %q and %q before there is an answer, want nothing", note, bars)
		}
		p.quiet()
	})

	// The focus stays on its lock when one before it goes, and when it comes to stand elsewhere.
	t.Run("focus", func(t *testing.T) {
		g := startGateway(t, program)
		first := g.run("a-first")
		for _, name := range []string{"b-second", "c-third", "d-last"} {
			g.run(name)
		}
		p := open(t, g, "/")
		p.awaitText("#locks-count", "4 held")
		p.do(chromedp.Click(`button[data-sort="waiters"]`))
		p.await(`document.querySelector('#locks-table th[aria-sort="descending"]')`)
		p.tabTo(`#locks-table a[title="c-third"]`)
		_ = first.Signal(syscall.SIGTERM)
		p.awaitText("#locks-count", "3 held")
		if got := eval[string](p, `document.activeElement.title`); got != "c-third" {
			t.Errorf("the focus is on %q after another lock is free, want it to stay on c-third", got)
		}
		p.do(chromedp.Focus(`#locks-table a[title="c-third"]`))
		g.run("c-third")
		p.await(`document.querySelector('#locks-table tbody tr').cells[5].textContent === '1'`)
		if got := eval[string](p, `document.activeElement.title`); got != "c-third" {
			t.Errorf("the focus is on %q after a lock has come first, want it to stay on c-third", got)
		}
		p.quiet()
	})

	// A page that nobody looks at asks nothing, whatever it is told.
	t.Run("background", func(t *testing.T) {
		g := startGateway(t, program)
		p := open(t, g, "/#/locks/nightly")
		p.do(chromedp.Click("#admin"))
		p.press(adminToken, kb.Enter)
		p.awaitText("#live", "by events")
		eval[any](p, `{ const ask = fetch; window.asked = 0; window.fetch = (...all) => (window.asked++, ask(...all)); Object.defineProperty(document, 'hidden', { value: true }) }`)
		p.await(`window.asked > 0`) // the look that was due
		asked := eval[int](p, `window.asked`)
		holder := g.run("nightly")
		p.awaitText("#history-table tbody", "acquired")
		_ = holder.Signal(syscall.SIGTERM)
		p.awaitText("#history-table tbody", "released")
		if got := eval[int](p, `window.asked`); got != asked {
			t.Errorf("it has asked %d times because of events, want none", got-asked)
		}
		p.quiet()
	})
}

// On a phone, and where letters are large, what has the focus is seen, too.
func TestBrowserNarrow(t *testing.T) {
	g := startGateway(t, program(t))
	g.run("nightly")
	p := openTab(t, startBrowser(t), g.url+"/", 320, 844)
	p.awaitText("#locks-table", "nightly")
	for range 30 {
		p.press(kb.Tab)
		hidden := eval[string](p, `(() => {
			const node = document.activeElement, box = node.getBoundingClientRect();
			const there = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
			return there && (node.contains(there) || there.contains(node)) && !there.matches('body, html') ? '' : node.outerHTML;
		})()`)
		if hidden != "" {
			t.Errorf("the focus is where nobody sees it: %s", hidden)
		}
		if eval[bool](p, `document.activeElement.matches('#locks-table tbody a')`) {
			return
		}
	}
	t.Error("the keyboard does not reach the lock")
}
