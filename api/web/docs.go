package web

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"strings"

	"go.yaml.in/yaml/v3"
)

//go:embed docs.tmpl
var docsTemplate string

// describe makes the page that shows an OpenAPI document.
func describe(openapi []byte) ([]byte, error) {
	var d document
	if err := yaml.Unmarshal(openapi, &d); err != nil {
		return nil, fmt.Errorf("read the OpenAPI document: %w", err)
	}
	page, err := d.page()
	if err != nil {
		return nil, fmt.Errorf("show the OpenAPI document: %w", err)
	}
	t, err := template.New("docs").Funcs(template.FuncMap{"prose": prose, "inline": inline}).Parse(docsTemplate)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = t.Execute(&out, page)
	return out.Bytes(), err
}

// page is the document as the template shows it.
type page struct {
	Title, Version, Summary, Description string
	Groups                               []group
	Schemas                              []shape
}

type group struct {
	Name, Description string
	Calls             []call
}

// call is one operation.
type call struct {
	ID, Method, Path, Summary, Description string
	Who                                    string // may call it
	Curl                                   string
	Parameters                             []row
	Body                                   []row
	Good, Bad                              []answer
}

// row is a parameter or a member of an object.
type row struct {
	Name, In, Description string
	Required              bool
	Type                  kind
	Example               any
}

// answer is one status with what comes in its body.
type answer struct {
	Status, Description string
	Types               []mediaType
}

type mediaType struct {
	Name    string
	Type    kind
	Example string
}

// shape is a schema that others refer to.
type shape struct {
	Name, Description string
	Type              kind
	Members           []row
}

func (d *document) page() (page, error) {
	p := page{Title: d.Info.Title, Version: d.Info.Version, Summary: d.Info.Summary, Description: d.Info.Description}
	for _, t := range d.Tags {
		p.Groups = append(p.Groups, group{Name: t.Name, Description: t.Description})
	}
	for _, item := range d.Paths {
		for _, m := range item.Value.methods() {
			c, err := d.call(item, m.Key, m.Value)
			if err != nil {
				return page{}, fmt.Errorf("%s %s: %w", m.Key, item.Key, err)
			}
			if err := p.add(c, m.Value.Tags); err != nil {
				return page{}, fmt.Errorf("%s %s: %w", m.Key, item.Key, err)
			}
		}
	}
	for _, s := range d.Components.Schemas {
		p.Schemas = append(p.Schemas, shape{s.Key, s.Value.Description, kindOf(s.Value), rowsOf(s.Value)})
	}
	return p, nil
}

func (p *page) add(c call, tags []string) error {
	for i := range p.Groups {
		if len(tags) > 0 && p.Groups[i].Name == tags[0] {
			p.Groups[i].Calls = append(p.Groups[i].Calls, c)
			return nil
		}
	}
	return fmt.Errorf("the tags %q are not among those of the document", tags)
}

func (i pathItem) methods() (all ordered[*operation]) {
	known := ordered[*operation]{{"GET", i.Get}, {"PUT", i.Put}, {"POST", i.Post}, {"DELETE", i.Delete}}
	for _, m := range known {
		if m.Value != nil {
			all = append(all, m)
		}
	}
	return all
}

func (d *document) call(item entry[pathItem], method string, op *operation) (call, error) {
	c := call{ID: op.ID, Method: method, Path: item.Key, Summary: op.Summary, Description: op.Description, Who: who(op)}
	for _, p := range append(item.Value.Parameters, op.Parameters...) {
		p, err := resolve(d.Components.Parameters, p.Ref, p)
		if err != nil {
			return call{}, err
		}
		c.Parameters = append(c.Parameters, row{p.Name, p.In, p.Description, p.Required, kindOf(p.Schema), p.Example})
	}
	b, err := resolve(d.Components.RequestBodies, op.Body.Ref, op.Body)
	if err != nil {
		return call{}, err
	}
	for _, m := range b.Content {
		s, err := resolve(d.Components.Schemas, m.Value.Schema.Ref, m.Value.Schema)
		if err != nil {
			return call{}, err
		}
		c.Body = rowsOf(s)
	}
	c.Curl = curl(c, op, b)
	return c, d.answers(&c, op)
}

func (d *document) answers(c *call, op *operation) error {
	for _, r := range op.Responses {
		found, err := resolve(d.Components.Responses, r.Value.Ref, r.Value)
		if err != nil {
			return err
		}
		a := answer{Status: r.Key, Description: found.Description}
		if r.Value.Description != "" { // beside a reference it counts instead
			a.Description = r.Value.Description
		}
		if !strings.HasPrefix(r.Key, "2") {
			c.Bad = append(c.Bad, a)
			continue
		}
		for _, m := range found.Content {
			a.Types = append(a.Types, mediaType{m.Key, kindOf(m.Value.Schema), exampleOf(m.Value)})
		}
		c.Good = append(c.Good, a)
	}
	return nil
}

// who says which token an operation wants.
func who(op *operation) string {
	var all []string
	for _, s := range op.Security {
		for name := range s {
			all = append(all, map[string]string{"session": "a session", "admin": "an administrator"}[name])
		}
		if len(s) == 0 {
			all = append(all, "anybody")
		}
	}
	if len(all) == 0 {
		return "anybody"
	}
	return strings.Join(all, " or ")
}
