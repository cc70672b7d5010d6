package web

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// kind is what a value may be, with the schema that says more.
type kind struct {
	Text string
	Ref  string // name of a schema, "" if there is none
}

func kindOf(s schema) kind {
	switch {
	case s.Ref != "":
		name := s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]
		return kind{name, name}
	case s.Items != nil:
		of := kindOf(*s.Items)
		return kind{"list of " + of.Text, of.Ref}
	case len(s.Enum) > 0:
		return kind{Text: choice(s.Enum) + defaultOf(s)}
	case s.Const != nil:
		return kind{Text: choice([]any{s.Const})}
	case len(s.AnyOf) > 0:
		var all []string
		for _, one := range s.AnyOf {
			all = append(all, kindOf(one).Text)
		}
		return kind{Text: strings.Join(all, " or ")}
	}
	text := s.Type
	if s.Format != "" && s.Format != "int64" {
		text = s.Format
	}
	return kind{Text: text + rangeOf(s) + defaultOf(s)}
}

func choice(values []any) string {
	var all []string
	for _, v := range values {
		all = append(all, fmt.Sprintf("%q", fmt.Sprint(v)))
	}
	return strings.Join(all, " or ")
}

func rangeOf(s schema) string {
	switch {
	case s.Minimum != nil && s.Maximum != nil:
		return fmt.Sprintf(", %v to %v", s.Minimum, s.Maximum)
	case s.Minimum != nil && fmt.Sprint(s.Minimum) != "0":
		return fmt.Sprintf(", at least %v", s.Minimum)
	}
	return ""
}

func defaultOf(s schema) string {
	if s.Default == nil {
		return ""
	}
	return fmt.Sprintf(", default %v", s.Default)
}

// rowsOf are the members of an object.
func rowsOf(s schema) (all []row) {
	for _, p := range s.Properties {
		all = append(all, row{
			Name: p.Key, Description: p.Value.Description, Required: slices.Contains(s.Required, p.Key), Type: kindOf(p.Value),
		})
	}
	return all
}

// exampleOf is the first example of an answer, as it comes over the wire but with
// line breaks.
func exampleOf(m media) string {
	v := m.Example
	if v == nil && len(m.Examples) > 0 {
		v = m.Examples[len(m.Examples)-1].Value.Value // the last one says most
	}
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return strings.TrimSpace(v)
	default:
		return indented(v)
	}
}

func indented(v any) string {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Sprint(v) // YAML can hold what JSON cannot; the document does not
	}
	return string(b)
}

// curl is a line to try an operation with; $T is a token.
func curl(c call, op *operation, b body) string {
	parts := []string{"curl", "-fsS"}
	for _, a := range op.Responses {
		if _, stream := a.Value.Content.get("text/event-stream"); stream {
			parts[1] = "-N"
		}
	}
	if c.Method != "GET" {
		parts = append(parts, "-X", c.Method)
	}
	if c.Who != "anybody" && !strings.Contains(c.Who, "anybody or") {
		parts = append(parts, `--oauth2-bearer "$T"`)
	}
	for _, m := range b.Content {
		if b.Required && m.Value.Example != nil {
			if example, err := json.Marshal(m.Value.Example); err == nil {
				parts = append(parts, "-H 'Content-Type: "+m.Key+"'", "-d '"+string(example)+"'")
			}
		}
	}
	url := "localhost:7420" + strings.NewReplacer("{name}", "nightly", "{id}", "0b7e42d1-5c6e-4a1f", "{file}", "style.css").Replace(c.Path)
	for _, p := range c.Parameters {
		if p.In == "query" && p.Required {
			value := "1"
			if p.Example != nil {
				value = fmt.Sprint(p.Example)
			}
			url = "'" + url + "?" + p.Name + "=" + value + "'"
		}
	}
	return strings.Join(append(parts, url), " ")
}
