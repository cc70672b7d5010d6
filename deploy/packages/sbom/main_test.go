package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"
)

func TestDescribe(t *testing.T) {
	d := describe("lockgw", "1.2.3", &debug.BuildInfo{
		GoVersion: "go1.26.8",
		Main:      debug.Module{Path: "example.org/lockgw", Version: "(devel)"},
		Deps: []*debug.Module{
			{Path: "example.org/a", Version: "v1.0.0+incompatible", Sum: "h1:abc="},
			{Path: "example.org/b", Version: "v1.0.0", Replace: &debug.Module{Path: "example.org/c", Version: "v2.0.0"}},
		},
		Settings: []debug.BuildSetting{{Key: "GOARCH", Value: "arm64"}},
	})
	main := d.Metadata.Component
	if main.Name != "lockgw" || main.Version != "1.2.3" || main.PURL != "pkg:golang/example.org/lockgw@1.2.3" {
		t.Errorf("the program: %+v", main)
	}
	if len(main.Properties) != 1 || main.Properties[0] != (property{"go:build:GOARCH", "arm64"}) {
		t.Errorf("the build: %+v", main.Properties)
	}
	want := []string{"pkg:golang/std@1.26.8", "pkg:golang/example.org/a@v1.0.0%2Bincompatible", "pkg:golang/example.org/c@v2.0.0"}
	if len(d.Components) != len(want) {
		t.Fatalf("components = %+v, want %v", d.Components, want)
	}
	for i, c := range d.Components {
		if c.PURL != want[i] || c.Ref != want[i] || c.Type != "library" {
			t.Errorf("component %d = %+v, want %s", i, c, want[i])
		}
	}
	if p := d.Components[1].Properties; len(p) != 1 || p[0].Value != "h1:abc=" {
		t.Errorf("checksum = %+v", p)
	}
}

// A program of this machine: the test itself.
func TestWrite(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var first, second bytes.Buffer
	for _, w := range []*bytes.Buffer{&first, &second} {
		if err := write(w, "lockgw", "1.2.3", self); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("the same program gives two documents")
	}
	var d document
	if err := json.Unmarshal(first.Bytes(), &d); err != nil {
		t.Fatal(err)
	}
	if d.Format != "CycloneDX" || len(d.Components) == 0 || d.Components[0].Name != "std" {
		t.Errorf("document = %s", first.Bytes())
	}
}

func TestNoProgram(t *testing.T) {
	path := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(path, []byte("no program"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := write(&bytes.Buffer{}, "lockgw", "1.2.3", path); err == nil {
		t.Error("a text has a document, want an error")
	}
}
