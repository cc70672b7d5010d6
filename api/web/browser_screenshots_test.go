//go:build browser

package web_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

var (
	screenshots = flag.String("screenshots", "", "directory that pictures of the pages are written to")
	looks       = flag.String("looks", "", "directory for pictures of all pages with 5,000 locks, of all widths, light and dark: to be looked at")
)

// TestLooks makes pictures that nobody keeps.
func TestLooks(t *testing.T) {
	if *looks == "" {
		t.Skip("no -looks")
	}
	g, browser := startGateway(t, program(t)), startBrowser(t)
	for _, note := range []string{"backup.sh", "verify.sh", "rotate.sh"} {
		g.run("nightly-backup", "--note", note)
	}
	g.run("a-rather-long-lock-name/with-parts/" + strings.Repeat("x", 80))
	g.fill(5000)
	for name, path := range map[string]string{
		"locks": "/", "lock": "/#/locks/nightly-backup", "sessions": "/#/sessions", "health": "/#/health", "nowhere": "/#/lokcs", "break": "/#/locks/nightly-backup",
	} {
		for _, scheme := range []string{"light", "dark"} {
			for _, width := range []int64{1280, 390, 320} {
				look := emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}})
				p := openTab(t, browser, g.url+path, width, 800, look)
				p.awaitText("#live", "Live")
				if name == "break" {
					asksToBreak(p)
				}
				time.Sleep(300 * time.Millisecond)
				p.shoot(filepath.Join(*looks, fmt.Sprintf("%s-%d-%s.png", name, width, scheme)))
			}
		}
	}
}

func (p *tab) shoot(file string) {
	p.t.Helper()
	var png []byte
	p.do(chromedp.CaptureScreenshot(&png))
	if err := os.WriteFile(file, png, 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// TestScreenshots makes the pictures of docs/web.md.
func TestScreenshots(t *testing.T) {
	if *screenshots == "" {
		t.Skip("no -screenshots")
	}
	g, browser := startGateway(t, program(t)), startBrowser(t)
	_ = g.run("nightly-backup", "--note", "backup.sh").Signal(syscall.SIGTERM)
	g.until("nightly-backup is free", func() bool { return g.status("nightly-backup").State == "free" })
	for _, job := range [][]string{
		{"deploy:eu-west", "--note", "deploy.sh eu-west"}, {"nightly-backup", "--note", "backup.sh"},
		{"nightly-backup", "--note", "verify.sh"}, {"nightly-backup", "--note", "rotate.sh"},
		{"reports/monthly", "--ttl", "2m", "--note", "report.py"},
	} {
		g.run(job[0], job[1:]...)
	}
	g.start("lock", "migrate-schema", "--note", "release 2026-11, Maria", "--keepalive", "1h")
	g.open("stock-sync", "2m")
	for _, note := range []string{"report.py eu", "report.py us", "audit.py"} {
		g.start("run", "-s", "stock", "-q", "--note", note, "--", "sleep", "600")
	}
	g.until("stock has three holders", func() bool { return g.status("stock").Holders == 3 })
	g.start("run", "stock", "-q", "--note", "stock-sync.sh", "--wait", "1h", "--", "sleep", "600")
	time.Sleep(8 * time.Second) // so that bars and times are not all at their beginning

	scheme := func(name string) chromedp.Action {
		return emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}})
	}
	for name, shot := range map[string]struct {
		path, scheme  string
		width, height int64
		do            func(*tab)
	}{
		"locks-light":    {"/", "light", 1200, 640, nil},
		"locks-dark":     {"/", "dark", 1200, 640, nil},
		"lock":           {"/#/locks/nightly-backup", "light", 1200, 1130, administrator},
		"together":       {"/#/locks/stock", "light", 1200, 760, nil},
		"break":          {"/#/locks/nightly-backup", "dark", 1200, 760, asksToBreak},
		"sessions":       {"/#/sessions", "light", 1200, 760, administersSessions},
		"sessions-phone": {"/#/sessions", "dark", 390, 844, administersSessions},
		"end":            {"/#/sessions", "light", 1200, 860, asksToEnd},
		"phone":          {"/", "light", 390, 844, nil},
		"docs":           {"/docs", "light", 1200, 900, func(p *tab) { p.do(chromedp.Navigate(g.url + "/docs#acquire")) }},
	} {
		p := openTab(t, browser, g.url+shot.path, shot.width, shot.height, scheme(shot.scheme))
		if shot.path != "/docs" {
			p.awaitText("#live", "Live")
		}
		if shot.do != nil {
			shot.do(p)
		}
		time.Sleep(500 * time.Millisecond) // until what moves has come to rest
		p.shoot(filepath.Join(*screenshots, name+".png"))
	}
}

func administrator(p *tab) {
	p.do(chromedp.Click("#admin"))
	p.press(adminToken, kb.Enter)
	p.awaitText("#history-table tbody", "released")
}

func administersSessions(p *tab) {
	p.do(chromedp.Click("#admin"))
	p.press(adminToken, kb.Enter)
	p.awaitText("#sessions-table tbody", "keepalive, ")
	p.do(chromedp.Evaluate(`document.activeElement.blur()`, nil), chromedp.MouseEvent(input.MouseMoved, 2, 400))
}

func asksToEnd(p *tab) {
	administersSessions(p)
	p.do(chromedp.Evaluate(`[...document.querySelectorAll('#sessions-table tbody tr')].find((row) => row.textContent.includes('nightly-backup')).querySelector('button').click()`, nil))
}

func asksToBreak(p *tab) {
	p.await(`!document.querySelector('#lock-break').disabled`)
	p.do(chromedp.Click("#lock-break"))
	p.await(`document.querySelector('#confirm-dialog').open`)
}
