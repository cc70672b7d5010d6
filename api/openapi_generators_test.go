package api

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// Programs that make a client of the document do not take all that OpenAPI 3.1 allows: oapi-codegen
// ends at a value of several types, openapi-python-client writes no Python for a constant
// without a type, and in Go the client that openapi-generator makes has a func NewX for each schema X.
func TestDocumentIsForGenerators(t *testing.T) {
	var doc struct {
		Components struct{ Schemas map[string]any }
	}
	var all any
	for _, into := range []any{&doc, &all} {
		if err := yaml.Unmarshal(openapiYAML, into); err != nil {
			t.Fatal(err)
		}
	}
	for name := range doc.Components.Schemas {
		if _, both := doc.Components.Schemas[strings.TrimPrefix(name, "New")]; both && strings.HasPrefix(name, "New") {
			t.Errorf("schema %s is called as the func that makes a %s", name, strings.TrimPrefix(name, "New"))
		}
	}
	checkTypes(t, "openapi.yaml", all)
}

func checkTypes(t *testing.T, path string, v any) {
	t.Helper()
	switch v := v.(type) {
	case []any:
		for _, one := range v {
			checkTypes(t, path, one)
		}
	case map[string]any:
		if types, several := v["type"].([]any); several {
			t.Errorf("%s: has the types %v, want anyOf", path, types)
		}
		if _, typed := v["type"]; !typed && v["const"] != nil {
			t.Errorf("%s: the constant %v has no type", path, v["const"])
		}
		for key, one := range v {
			checkTypes(t, path+"/"+key, one)
		}
	}
}

// Some clients send the default of each parameter that they were not given. What may stand in the
// body is then in the query, too, and a mode stands beside every limit: both are refused.
func TestDocumentHasNoDefaultThatMayNotBeSent(t *testing.T) {
	for path, item := range loadDocument(t).Paths.Map() {
		for method, op := range item.Operations() {
			if op.RequestBody == nil {
				continue
			}
			inBody := op.RequestBody.Value.Content["application/json"].Schema.Value.Properties
			for _, p := range op.Parameters {
				if schema := p.Value.Schema.Value; inBody[p.Value.Name] != nil && schema.Default != nil {
					t.Errorf("%s %s: %s has the default %v, and may stand in the body instead", method, path, p.Value.Name, schema.Default)
				}
			}
		}
	}
}
