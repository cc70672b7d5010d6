package web

import (
	"errors"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

// parts finds what a page, a style or a script refers to.
var parts = regexp.MustCompile(`(?:src|href)="/web/([^"]+)"|from "\./([^"]+)"`)

// What the pages refer to is there, and nothing refers to another site.
func TestPartsAreThere(t *testing.T) {
	s := New(openapi(t))
	checked := map[string]bool{}
	var check func(name string, f File, err error)
	check = func(name string, f File, err error) {
		if checked[name] {
			return
		}
		checked[name] = true
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}
		if regexp.MustCompile(`(?:src|href|from|url|import)[=( ]+["']?(?:https?:)?//`).Match(f.Body) {
			t.Errorf("%s refers to another site", name)
		}
		for _, m := range parts.FindAllStringSubmatch(string(f.Body), -1) {
			part := path.Base(m[1] + m[2])
			f, err := s.File(part)
			check(part, f, err)
		}
	}
	f, err := s.Page()
	check("/", f, err)
	f, err = s.Docs()
	check("/docs", f, err)
	entries, err := files.ReadDir("files")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !checked[e.Name()] && e.Name() != "index.html" {
			t.Errorf("%s is used by nothing", e.Name())
		}
	}
}

// The policy forbids what is written into a page.
func TestNothingInline(t *testing.T) {
	s := New(openapi(t))
	page, err := s.Page()
	if err != nil {
		t.Fatal(err)
	}
	docs, err := s.Docs()
	if err != nil {
		t.Fatal(err)
	}
	inline := regexp.MustCompile(`<style|<script>|<script [^>]*>[^<]|\sstyle=|\son[a-z]+=|javascript:`)
	for name, f := range map[string]File{"/": page, "/docs": docs} {
		if found := inline.Find(f.Body); found != nil {
			t.Errorf("%s has %q in it", name, found)
		}
	}
}

func TestNoFile(t *testing.T) {
	s := New(nil)
	for _, name := range []string{"", ".", "..", "nothing.js", "../web.go", "web.go", "docs.tmpl", "files/app.js", "/app.js", "app.js/", "APP.JS", "app.js\x00"} {
		if _, err := s.File(name); !errors.Is(err, ErrNoFile) {
			t.Errorf("File(%q) = %v, want ErrNoFile", name, err)
		}
	}
}

func openapi(t *testing.T) []byte {
	t.Helper()
	b, err := os.ReadFile("../openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Every operation and every schema of the document is on the page.
func TestDocs(t *testing.T) {
	f, err := New(openapi(t)).Docs()
	if err != nil {
		t.Fatal(err)
	}
	html := string(f.Body)
	for _, m := range regexp.MustCompile(`operationId: (\w+)`).FindAllStringSubmatch(string(openapi(t)), -1) {
		if !strings.Contains(html, `<section id="`+m[1]+`"`) {
			t.Errorf("%s is not on the page", m[1])
		}
	}
	for _, want := range []string{
		`curl -fsS -X PUT localhost:7420/v1/locks/nightly</pre>`,
		`curl -fsS -X DELETE --oauth2-bearer &#34;$T&#34; localhost:7420/v1/locks/nightly</pre>`,
		`curl -N -X POST localhost:7420/v1/locks/nightly/hold</pre>`,
		`<a href="#schema-Duration">Duration</a>`, `id="schema-Duration"`,
		`<dt>423</dt>`, `<td><code>jeopardy</code></td>`, `integer, 1 to 1000, default 100`,
		`&#34;free&#34; or &#34;held&#34;`, `list of LockStatus`,
	} {
		if !strings.Contains(html, want) {
			t.Errorf("%q is not on the page", want)
		}
	}
	ids := map[string]bool{}
	for _, m := range regexp.MustCompile(` id="([^"]+)"`).FindAllStringSubmatch(html, -1) {
		if ids[m[1]] {
			t.Errorf("id %s is there twice", m[1])
		}
		ids[m[1]] = true
	}
	for _, m := range regexp.MustCompile(`href="#([^"]+)"`).FindAllStringSubmatch(html, -1) {
		if !ids[m[1]] {
			t.Errorf("a link to #%s leads nowhere", m[1])
		}
	}
}

func TestDocsOfABadDocument(t *testing.T) {
	for _, tt := range []struct{ document, want string }{
		{":\n\t", "read the OpenAPI document"},
		{"paths: [a]", "want a mapping"},
		{"paths: {/a: {get: {tags: [x], responses: {}}}}", `GET /a: the tags ["x"] are not among those of the document`},
		{"tags: [{name: x}]\npaths: {/a: {get: {tags: [x], responses: {'400': {$ref: '#/components/responses/No'}}}}}", "GET /a: #/components/responses/No refers to nothing"},
		{"tags: [{name: x}]\npaths: {/a: {get: {tags: [x], parameters: [{$ref: '#/components/parameters/No'}]}}}", "refers to nothing"},
	} {
		if _, err := New([]byte(tt.document)).Docs(); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: err = %v, want %q in it", tt.document, err, tt.want)
		}
	}
}

func TestProse(t *testing.T) {
	for text, want := range map[string]string{
		"":                       "",
		"a <b> & `c<d`":          "<p>a &lt;b&gt; &amp; <code>c&lt;d</code></p>\n",
		"**Who.** one\ntwo\n\n3": "<p><strong>Who.</strong> one\ntwo</p>\n<p>3</p>\n",
		"| a | b |\n|---|---|\n| `x` | <y> |": "<table>\n<tr><th>a</th><th>b</th></tr>\n" +
			"<tr><td><code>x</code></td><td>&lt;y&gt;</td></tr>\n</table>\n",
		"<script>alert(1)</script>": "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>\n",
	} {
		if got := string(prose(text)); got != want {
			t.Errorf("prose(%q) = %q, want %q", text, got, want)
		}
	}
}
