package web

import (
	_ "embed"
	"flag"
	"os"
	"strings"
	"testing"
	"text/template"

	"go.yaml.in/yaml/v3"
)

var update = flag.Bool("update", false, "write the reference page instead of comparing it")

const referencePage = "../../docs/reference/http.md"

//go:embed testdata/reference.tmpl
var referenceTemplate string

// The page about HTTP says what openapi.yaml says, as /docs of a gateway does.
func TestReferencePage(t *testing.T) {
	page := reference(t)
	if *update {
		if err := os.WriteFile(referencePage, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got, err := os.ReadFile(referencePage); err != nil || string(got) != page {
		t.Errorf("docs/reference/http.md is not what openapi.yaml says (err %v): run go generate ./docs/check", err)
	}
}

func reference(t *testing.T) string {
	t.Helper()
	openapi, err := os.ReadFile("../openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var d document
	if err := yaml.Unmarshal(openapi, &d); err != nil {
		t.Fatal(err)
	}
	p, err := d.page()
	if err != nil {
		t.Fatal(err)
	}
	funcs := template.FuncMap{"cell": cell, "lower": strings.ToLower, "trim": strings.TrimSpace}
	tmpl, err := template.New("reference").Funcs(funcs).Parse(referenceTemplate)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := tmpl.Execute(&out, p); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// cell is text that fits into a cell of a table.
func cell(text string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "|", `\|`)
}
