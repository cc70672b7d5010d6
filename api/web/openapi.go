package web

import (
	"fmt"
	"path"

	"go.yaml.in/yaml/v3"
)

// document is what is shown of an OpenAPI document.
type document struct {
	Info struct {
		Title, Version, Summary, Description string
	}
	Tags       []tag
	Paths      ordered[pathItem]
	Components struct {
		Parameters    ordered[parameter]
		RequestBodies ordered[body] `yaml:"requestBodies"`
		Responses     ordered[response]
		Schemas       ordered[schema]
	}
}

type tag struct{ Name, Description string }

type pathItem struct {
	Parameters             []parameter
	Get, Put, Post, Delete *operation
}

type operation struct {
	Tags                 []string
	ID                   string `yaml:"operationId"`
	Summary, Description string
	Parameters           []parameter
	Body                 body `yaml:"requestBody"`
	Responses            ordered[response]
	Security             []map[string][]string
}

type parameter struct {
	Ref                   string `yaml:"$ref"`
	Name, In, Description string
	Required              bool
	Schema                schema
	Example               any
}

type body struct {
	Ref      string `yaml:"$ref"`
	Required bool
	Content  ordered[media]
}

type response struct {
	Ref         string `yaml:"$ref"`
	Description string
	Content     ordered[media]
}

type media struct {
	Schema   schema
	Example  any
	Examples ordered[struct{ Value any }]
}

type schema struct {
	Ref                 string `yaml:"$ref"`
	Format, Description string
	Type                string
	AnyOf               []schema `yaml:"anyOf"`
	Enum                []any
	Const, Default      any
	Minimum, Maximum    any
	Items               *schema
	Properties          ordered[schema]
	Required            []string
}

// ordered is a mapping in the order in which it was written.
type ordered[T any] []entry[T]

type entry[T any] struct {
	Key   string
	Value T
}

// UnmarshalYAML implements yaml.Unmarshaler.
func (o *ordered[T]) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d: want a mapping", n.Line)
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		e := entry[T]{Key: n.Content[i].Value}
		if err := n.Content[i+1].Decode(&e.Value); err != nil {
			return err
		}
		*o = append(*o, e)
	}
	return nil
}

func (o ordered[T]) get(key string) (v T, ok bool) {
	for _, e := range o {
		if e.Key == key {
			return e.Value, true
		}
	}
	return v, false
}

// resolve follows a reference into one part of the components; own is what stands
// there if it is none.
func resolve[T any](components ordered[T], ref string, own T) (T, error) {
	if ref == "" {
		return own, nil
	}
	v, ok := components.get(path.Base(ref))
	if !ok {
		return own, fmt.Errorf("%s refers to nothing", ref)
	}
	return v, nil
}
