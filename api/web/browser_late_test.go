//go:build browser

package web_test

import (
	"syscall"
	"testing"

	"github.com/chromedp/chromedp"
)

// The page draws why a job was late: bars of who waited and who held a lock, and the
// locks that were waited for most.
func TestBrowserLate(t *testing.T) {
	g, browser := startGateway(t, program(t)), startBrowser(t)
	first := g.run("nightly", "--note", "backup.sh")
	g.run("nightly", "--note", "report.sh")
	_ = first.Signal(syscall.SIGTERM)
	p := openTab(t, browser, g.url+"/#/locks/nightly", 1280, 900)
	p.awaitText("#late-bars", "report.sh")
	p.awaitText("#late-bars", "released")
	p.awaitText("#late-note", "2 attempts on host-a")
	p.await(`document.querySelector('#late-bars .late-waited').getBoundingClientRect().width > 0`)
	p.await(`document.querySelectorAll('#late-bars .late-held').length === 2`)
	p.do(chromedp.SetValue("#late-range", "7d"), chromedp.Evaluate(`document.querySelector('#late-range').dispatchEvent(new Event('change'))`, nil))
	p.awaitText("#late-note", "2 attempts")
	p.do(chromedp.Navigate(g.url + "/#/contended"))
	p.awaitText("#contended-table tbody", "nightly")
	p.do(chromedp.Click("#contended-table tbody a"))
	p.awaitText("#lock-title", "nightly")
	p.quiet()
	for _, width := range []int64{390, 320} {
		small := openTab(t, browser, g.url+"/#/locks/nightly", width, 800)
		small.awaitText("#late-bars", "report.sh")
		small.await(`document.documentElement.scrollWidth <= innerWidth`)
	}
}
