package config

import (
	"encoding"
	"fmt"
	"io/fs"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/session"
)

// field is one key of config. All layers (file, environment, flags) give texts;
// set alone makes values of them, so that a text means the same in each.
type field struct {
	key      string // backend.redis.fence_ttl
	help     string
	oneOf    []string // the texts allowed; empty: any of the type
	gone     string   // a text that was allowed once, =, and what to do in its place
	min, max int      // of a number; max 0: none
	positive bool     // a duration must not be 0
	reload   bool     // a reload applies a change
	secret   bool     // a file that not everybody should read
	index    []int    // of the struct field in config
	typ      reflect.Type
}

func (f field) env() string {
	return cli.EnvPrefix + strings.ToUpper(strings.ReplaceAll(f.key, ".", "_"))
}
func (f field) flag() string { return strings.NewReplacer(".", "-", "_", "-").Replace(f.key) }

// fields lists the keys of config in the order of the struct.
func fields() []field { return fieldsOf(reflect.TypeFor[Config](), "", nil) }

func fieldsOf(t reflect.Type, prefix string, index []int) []field {
	var fields []field
	for i := range t.NumField() {
		sf := t.Field(i)
		key, at := prefix+sf.Tag.Get("yaml"), append(index[:len(index):len(index)], i)
		if sf.Type.Kind() == reflect.Struct {
			fields = append(fields, fieldsOf(sf.Type, key+".", at)...)
			continue
		}
		f := field{
			key: key, index: at, typ: sf.Type, help: sf.Tag.Get("jsonschema_description"),
			positive: sf.Tag.Get("positive") != "",
			gone:     sf.Tag.Get("gone"), reload: sf.Tag.Get("reload") != "", secret: sf.Tag.Get("secret") != "",
		}
		f.readRules(sf.Tag.Get("jsonschema"))
		fields = append(fields, f)
	}
	return fields
}

func (f *field) readRules(tag string) {
	for rule := range strings.SplitSeq(tag, ",") {
		switch name, value, _ := strings.Cut(rule, "="); name {
		case "enum":
			f.oneOf = append(f.oneOf, value)
		case "minimum":
			f.min, _ = strconv.Atoi(value) // a constant of this package
		case "maximum":
			f.max, _ = strconv.Atoi(value)
		}
	}
}

func (f field) of(c *Config) reflect.Value { return reflect.ValueOf(c).Elem().FieldByIndex(f.index) }

// set puts what text means into its place in c. The error says what is allowed.
func (f field) set(c *Config, text string) error {
	v := f.of(c)
	switch p := v.Addr().Interface().(type) {
	case encoding.TextUnmarshaler:
		return p.UnmarshalText([]byte(text))
	case *string:
		return f.setString(p, text)
	case *[]string:
		*p = splitList(text)
	case *int:
		return f.setInt(p, text)
	case *bool:
		if text != "true" && text != "false" {
			return fmt.Errorf("%q is not true or false", text)
		}
		*p = text == "true"
	case *time.Duration:
		return f.setDuration(p, text)
	default:
		panic("config: no text form for " + f.typ.String()) // a defect in the struct
	}
	return nil
}

func (f field) setString(p *string, text string) error {
	if was, why, _ := strings.Cut(f.gone, "="); was != "" && was == text {
		return fmt.Errorf("%s is gone: %s", text, why)
	}
	if len(f.oneOf) > 0 && !slices.Contains(f.oneOf, text) {
		return fmt.Errorf("%q is not one of %s", text, strings.Join(f.oneOf, ", "))
	}
	*p = text
	return nil
}

func (f field) setInt(p *int, text string) error {
	n, err := strconv.Atoi(text)
	if err != nil {
		return fmt.Errorf("%q is no whole number", text)
	}
	switch {
	case n < f.min:
		return fmt.Errorf("%d is less than %d", n, f.min)
	case f.max > 0 && n > f.max:
		return fmt.Errorf("%d is more than %d", n, f.max)
	}
	*p = n
	return nil
}

func (f field) setDuration(p *time.Duration, text string) error {
	d, err := session.ParseDuration(text)
	if err != nil {
		return err
	}
	if f.positive && d == 0 {
		return fmt.Errorf("%q is 0, but must be longer", text)
	}
	*p = d
	return nil
}

// text is the opposite of set.
func (f field) text(c *Config) string {
	switch v := f.of(c).Interface().(type) {
	case []string:
		return strings.Join(v, ",")
	case time.Duration:
		return cli.Duration(v)
	default:
		return fmt.Sprint(v)
	}
}

// kind names the type in the usage of the flag.
func (f field) kind() string {
	switch {
	case len(f.oneOf) > 0:
		return strings.Join(f.oneOf, "|")
	case f.typ == reflect.TypeFor[bool]():
		return "true|false"
	case f.typ == reflect.TypeFor[int]():
		return "number"
	case f.typ == reflect.TypeFor[time.Duration]():
		return "duration"
	case f.typ.Kind() == reflect.Slice:
		return "list"
	default:
		return "text"
	}
}

func splitList(text string) []string {
	list := []string{}
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			list = append(list, item)
		}
	}
	return list
}

// UnmarshalText reads octal digits.
func (m *FileMode) UnmarshalText(text []byte) error {
	n, err := strconv.ParseUint(strings.TrimPrefix(string(text), "0o"), 8, 32)
	if err != nil || n > 0o777 {
		return fmt.Errorf("%q is no octal permission such as 0660", text)
	}
	*m = FileMode(n)
	return nil
}

// String writes octal digits.
func (m FileMode) String() string { return fmt.Sprintf("%#04o", fs.FileMode(m)) }
