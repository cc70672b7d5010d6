package config

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lockgw/lockgw/session/access"
)

// Access is who may do what.
type Access struct {
	TokensFile string      `yaml:"tokens_file" reload:"true" secret:"true" jsonschema_description:"file with a line for each access token: the name of a caller and its token"`
	Rules      AccessRules `yaml:"rules" reload:"true" jsonschema_description:"who may do what with which locks; without any rule everybody may lock and inspect all"`
}

// AccessRules are the rules as a file writes them. In the environment and as a flag
// they are the same list in one line, as YAML or JSON.
type AccessRules []AccessRule

// AccessRule is one of them.
type AccessRule struct {
	Who   words `yaml:"who" json:"who" jsonschema:"required" jsonschema_description:"user:NAME, group:NAME, token:NAME, cert:NAME, loopback, anyone"`
	May   words `yaml:"may" json:"may" jsonschema:"required" jsonschema_description:"inspect, lock (and inspect), admin (and both)"`
	Locks words `yaml:"locks" json:"locks" jsonschema:"required" jsonschema_description:"names, or beginnings of names with * at the end"`
}

// words are one or several. They may contain commas.
type words []string

// UnmarshalYAML takes a list of texts, or one.
func (w *words) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode && !isNull(n) {
		*w = words{n.Value}
		return nil
	}
	return n.Decode((*[]string)(w))
}

func (r AccessRule) rule() access.Rule { return access.Rule{Who: r.Who, May: r.May, Locks: r.Locks} }

func (rs AccessRules) rules() (out []access.Rule) {
	for _, r := range rs {
		out = append(out, r.rule())
	}
	return out
}

// String is what UnmarshalText reads.
func (rs AccessRules) String() string {
	if len(rs) == 0 {
		return "[]"
	}
	b, err := json.Marshal(rs)
	if err != nil {
		return "" // cannot be: they are texts
	}
	return string(b)
}

// UnmarshalText reads a list of rules in YAML, of which JSON is a part.
func (rs *AccessRules) UnmarshalText(text []byte) error {
	d := yaml.NewDecoder(strings.NewReader(string(text)))
	d.KnownFields(true)
	// Not AccessRules, whose scalars yaml would hand to this function again; and pointers, because
	// of other lists it leaves out what is null.
	var list []*AccessRule
	err := d.Decode(&list)
	// A null is no empty list, which lets everybody lock everything: it may be what a program has
	// made of nothing. What follows the list was meant to count, too.
	if err != nil || list == nil || !errors.Is(d.Decode(&yaml.Node{}), io.EOF) {
		return errors.New(`is no list of rules such as [{who: "user:alice", may: lock, locks: "reports/*"}]`)
	}
	rules := AccessRules{}
	for i, r := range list {
		r = cmp.Or(r, &AccessRule{})
		if err := r.rule().Check(); err != nil {
			return fmt.Errorf("rule %d: %w", i+1, err)
		}
		rules = append(rules, *r)
	}
	*rs = rules
	return nil
}

// rules reads a list of rules, each with the line that it begins in.
func (r *fileReader) rules(key string, n *yaml.Node) {
	var list AccessRules
	before := len(r.problems)
	for i, item := range n.Content {
		item = resolve(item)
		if _, ok := r.part(key, item, reflect.TypeFor[AccessRule]()); !ok {
			continue
		}
		var rule AccessRule
		err := item.Decode(&rule)
		if err == nil {
			err = rule.rule().Check()
		}
		if err != nil {
			r.problem(item.Line, "%s: rule %d: %v", key, i+1, err)
		}
		list = append(list, rule)
	}
	if len(r.problems) == before {
		r.entries[key] = entry{text: list.String(), line: n.Line}
	}
}
