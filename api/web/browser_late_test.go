//go:build browser

package web_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

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

// Of what was cut off by the end of the gateway nobody knows how long it waited or held: the page says
// nothing of it, and draws nothing.
func TestBrowserLateCutOff(t *testing.T) {
	g, browser := startGateway(t, program(t)), startBrowser(t)
	asked := time.Now().Add(-time.Hour).UTC()
	text := func(t time.Time) string { return t.Format(time.RFC3339) }
	lines := fmt.Sprintf(`{"kind":"attempt","lock":"nightly","who":{"owner":"a:1","note":"holds.sh"},"asked":%[1]q,"granted":%[2]q,"outcome":"holding","fence":1}
{"kind":"attempt","lock":"nightly","who":{"owner":"b:1","note":"waits.sh"},"asked":%[1]q,"outcome":"waiting"}
`, text(asked), text(asked.Add(time.Minute)))
	name := asked.Format("20060102T150405.000000Z") + ".jsonl"
	if err := os.WriteFile(filepath.Join(g.State(), "history", name), []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	p := openTab(t, browser, g.url+"/#/locks/nightly", 1280, 900)
	p.awaitText("#late-note", "2 attempts on host-a")
	bars := p.text("#late-bars")
	for _, not := range []string{"held ", "did not wait"} {
		if strings.Contains(bars, not) {
			t.Errorf("the bars say %q, which is not known: %q", not, bars)
		}
	}
	if !strings.Contains(bars, "waited 1m 0s") || strings.Count(bars, "unknown") != 2 {
		t.Errorf("the bars are %q, want that one waited for a minute, and two whose end is unknown", bars)
	}
	p.await(`[...document.querySelectorAll('#late-bars .late-held, #late-bars .late-vain')].every((bar) => parseFloat(bar.style.width) === 0)`)
	p.quiet()
}
