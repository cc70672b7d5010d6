// Package web is what the gateway shows to a browser: one page that follows its
// locks, and the description of the HTTP interface.
//
// Everything is inside the program. The page has no build step and loads nothing
// from elsewhere, and Policy forbids it to. It is a client of the HTTP interface
// like any other and learns nothing that is not told to everybody there.
package web

import (
	"embed"
	"errors"
	"path"
	"sync"
)

// Policy is the Content-Security-Policy of every File: nothing but what this
// package serves, no script or style inside a page, and in no frame.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// ErrNoFile: there is no such file.
var ErrNoFile = errors.New("no such file")

//go:embed files
var files embed.FS

// File is an answer for a browser.
type File struct {
	Type string // Content-Type
	Body []byte
}

// Site is all there is for a browser.
type Site struct {
	docs func() ([]byte, error)
}

// New makes a Site that describes the interface of an OpenAPI document. The
// description is made when it is first asked for.
func New(openapi []byte) *Site {
	return &Site{docs: sync.OnceValues(func() ([]byte, error) { return describe(openapi) })}
}

// Page is the page that follows the locks.
func (s *Site) Page() (File, error) { return s.File("index.html") }

// Docs is the description of the HTTP interface.
func (s *Site) Docs() (File, error) {
	body, err := s.docs()
	return File{types[".html"], body}, err
}

// File is what the pages are made of, by its name without a path. ErrNoFile.
func (s *Site) File(name string) (File, error) {
	contentType, ok := types[path.Ext(name)]
	body, err := files.ReadFile("files/" + name) // takes no name that leads out of there
	if err != nil || !ok {
		return File{}, ErrNoFile
	}
	return File{contentType, body}, nil
}

// types are all that is served. The table of the machine is not asked: it may be
// missing or changed, and browsers do not run a script of another type.
var types = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
}
