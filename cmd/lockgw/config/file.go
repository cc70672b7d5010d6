package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"syscall"

	"go.yaml.in/yaml/v3"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
)

// maxFile bounds what is read of a configuration file.
const maxFile = 1 << 20

// entry is the text of one key in a file.
type entry struct {
	text string
	line int
}

// readFile reads the keys that a YAML file sets. It takes the texts as
// they were written, because YAML's own types change them: 0660 would be the
// number 432. All that is wrong with the keys is reported at once.
func readFile(path string) (map[string]entry, error) {
	text, pipe, err := cli.ReadFile(path, maxFile+1)
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	switch {
	case len(text) > maxFile:
		return nil, fmt.Errorf("%s is longer than %d bytes and no configuration file", path, maxFile)
	case len(text) == 0 && pipe: // taken for an empty file it would set nothing, and no rule of access would be left
		return nil, fmt.Errorf("%s is a pipe with nothing in it: what comes through a pipe can be read once, so a reload needs a file", path)
	}
	return parseFile(path, text)
}

// checkWriters warns of a file whose owner is somebody else, or that others may write: who
// writes it is an administrator of the gateway.
func checkWriters(path string) (warnings []string) {
	info, err := os.Stat(path)
	if err != nil {
		return nil // that is told where it is read
	}
	if owner := int(info.Sys().(*syscall.Stat_t).Uid); owner != 0 && owner != os.Geteuid() {
		warnings = append(warnings, fmt.Sprintf("the configuration %s belongs to the user with id %d, who can make any rule; `chown root %s`", path, owner, path))
	}
	if info.Mode()&0o002 != 0 {
		warnings = append(warnings, fmt.Sprintf("every user of this machine may write the configuration %s, and make any rule; `chmod o-w %s`", path, path))
	}
	return warnings
}

func parseFile(path string, text []byte) (map[string]entry, error) {
	var doc, second yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(text))
	switch err := d.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, nil // an empty file sets nothing
	case err != nil:
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if err := d.Decode(&second); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: only one YAML document is read, but there is more after it", path)
	}
	r := fileReader{path: path, entries: map[string]entry{}}
	r.section(doc.Content[0], reflect.TypeFor[Config](), "")
	return r.entries, errors.Join(r.problems...)
}

type fileReader struct {
	path     string
	entries  map[string]entry
	problems []error
}

func (r *fileReader) problem(line int, format string, args ...any) {
	r.problems = append(r.problems, fmt.Errorf("%s:%d: %s", r.path, line, fmt.Sprintf(format, args...)))
}

// section reads a mapping whose keys are the fields of t.
func (r *fileReader) section(n *yaml.Node, t reflect.Type, prefix string) {
	n = resolve(n)
	if isNull(n) {
		return // `tls:` with nothing under it
	}
	if n.Kind != yaml.MappingNode {
		r.problem(n.Line, "%s must be a section with the keys %s", sectionName(prefix), strings.Join(keysOf(t), ", "))
		return
	}
	lines := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if first, twice := lines[key.Value]; twice {
			r.problem(key.Line, "key %q is given twice, first in line %d", prefix+key.Value, first)
			continue
		}
		lines[key.Value] = key.Line
		r.key(key, value, t, prefix)
	}
}

func (r *fileReader) key(key, value *yaml.Node, t reflect.Type, prefix string) {
	sf, known := fieldNamed(t, key.Value)
	switch {
	case !known:
		r.problem(key.Line, "unknown key %q%s; %s has the keys %s", prefix+key.Value,
			cli.DidYouMean(key.Value, keysOf(t)), sectionName(prefix), strings.Join(keysOf(t), ", "))
	case sf.Type.Kind() == reflect.Struct:
		r.section(value, sf.Type, prefix+key.Value+".")
	default:
		r.value(prefix+key.Value, resolve(value), sf.Type)
	}
}

// notNothing has the lists that may not be left without a value: whoever comments out all of
// their items may mean none of them, and not the default.
var notNothing = map[string]string{
	"access.rules": "no rule after it; write [] if everybody may lock and look at every name", // as in AccessRules.UnmarshalText
	"http.listen":  "no address after it; write [] if there is to be no HTTP over TCP",
}

// value reads a leaf: one text, or several where the field is a list.
func (r *fileReader) value(key string, n *yaml.Node, t reflect.Type) {
	if isNull(n) {
		if why := notNothing[key]; why != "" {
			r.problem(n.Line, "%s has %s, or leave the key out", key, why)
		}
		return // `group:` with nothing after it
	}
	var texts []string
	switch {
	case n.Kind == yaml.SequenceNode && t == reflect.TypeFor[AccessRules]():
		r.rules(key, n)
		return
	case n.Kind == yaml.ScalarNode:
		texts = []string{n.Value}
	case n.Kind == yaml.SequenceNode && t.Kind() == reflect.Slice:
		for _, item := range n.Content {
			text, ok := r.item(key, resolve(item), t.Elem())
			if !ok {
				return
			}
			texts = append(texts, text)
		}
	case t.Kind() == reflect.Slice: // a rule without the dash before it
		r.problem(n.Line, "%s must be a list", key)
		return
	default:
		r.problem(n.Line, "%s must be one plain value", key)
		return
	}
	r.entries[key] = entry{text: strings.Join(texts, ","), line: n.Line}
}

// item of a list is a plain text, or a section whose values make one: a=b.
func (r *fileReader) item(key string, n *yaml.Node, t reflect.Type) (text string, ok bool) {
	if t.Kind() != reflect.Struct {
		if n.Kind != yaml.ScalarNode {
			r.problem(n.Line, "%s must be a list of plain texts", key)
		}
		return n.Value, n.Kind == yaml.ScalarNode
	}
	part, ok := r.part(key, n, t)
	var texts []string
	for _, name := range keysOf(t) {
		texts = append(texts, part[key+"."+name].text)
	}
	return strings.Join(texts, "="), ok
}

// part reads the section of one item of a list; false: something is wrong with it.
func (r *fileReader) part(key string, n *yaml.Node, t reflect.Type) (entries map[string]entry, ok bool) {
	part := fileReader{path: r.path, entries: map[string]entry{}}
	part.section(n, t, key+".")
	r.problems = append(r.problems, part.problems...)
	return part.entries, len(part.problems) == 0
}

func resolve(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

func fieldNamed(t reflect.Type, key string) (reflect.StructField, bool) {
	for sf := range t.Fields() {
		if sf.Tag.Get("yaml") == key {
			return sf, true
		}
	}
	return reflect.StructField{}, false
}

func keysOf(t reflect.Type) []string {
	var keys []string
	for sf := range t.Fields() {
		keys = append(keys, sf.Tag.Get("yaml"))
	}
	return keys
}

func sectionName(prefix string) string {
	if prefix == "" {
		return "the file"
	}
	return strings.TrimSuffix(prefix, ".")
}
