package api

import (
	"strings"
	"testing"

	"github.com/lockgw/lockgw/api/web"
	"github.com/lockgw/lockgw/session"
)

// What a browser is shown may load nothing from elsewhere, stand in no frame and
// run nothing that is written into it.
func TestPages(t *testing.T) {
	g := newGateway(t, session.Config{})
	for path, contentType := range map[string]string{
		"/": "text/html; charset=utf-8", "/docs": "text/html; charset=utf-8", "/web/style.css": "text/css; charset=utf-8",
		"/web/app.js": "text/javascript; charset=utf-8", "/web/icon.svg": "image/svg+xml",
	} {
		a := g.must(200, request{method: "GET", path: path})
		for name, want := range map[string]string{
			"Content-Type": contentType, "Content-Security-Policy": web.Policy, "Referrer-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin",
		} {
			if got := a.header.Get(name); got != want {
				t.Errorf("%s: %s = %q, want %q", path, name, got, want)
			}
		}
		if len(a.body) < 100 {
			t.Errorf("%s: %d bytes, want a file", path, len(a.body))
		}
	}
	for _, directive := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'"} {
		if !strings.Contains(web.Policy, directive) {
			t.Errorf("policy = %q, want it to have %q", web.Policy, directive)
		}
	}
}

func TestNoSuchPagePart(t *testing.T) {
	g := newGateway(t, session.Config{})
	var rows []badRequest
	for _, name := range []string{"nothing.css", "app", "..", "%2E%2E%2Fweb.go", "..%2Fdocs.tmpl", "files%2Fapp.js", "app.js%00", "App.js", "web.go", "docs.tmpl"} {
		rows = append(rows, badRequest{request{method: "GET", path: "/web/" + name}, 404, codeNotFound, "there is no"})
	}
	for _, path := range []string{"/?x=1", "/docs?x", "/web/app.js?v=2"} {
		rows = append(rows, badRequest{request{method: "GET", path: path}, 400, session.CodeInvalid, ""})
	}
	g.refuseAll(rows)
}
