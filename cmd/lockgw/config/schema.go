package config

import (
	"reflect"
	"strings"
	"time"

	"github.com/invopop/jsonschema"
	"github.com/spf13/cobra"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
)

func newSchema() *cobra.Command {
	var format string // it is JSON in any case
	cmd := &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of the configuration file, for editors",
		Args:  cli.UsageArgs(cli.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cli.WriteJSON(cmd.OutOrStdout(), schema())
		},
	}
	cli.JSONVar(cmd.Flags(), &format)
	cmd.Flags().Lookup("json").Usage = "changes nothing: a schema is JSON"
	return cmd
}

// schema says of a file what the loader says of it, as far as a schema can.
func schema() *jsonschema.Schema {
	r := jsonschema.Reflector{
		FieldNameTag: "yaml", Anonymous: true, ExpandedStruct: true, DoNotReference: true,
		RequiredFromJSONSchemaTags: true, Mapper: schemaOf,
	}
	s := r.Reflect(&Config{})
	s.Title = "lockgw configuration"
	defaults := Default()
	for _, f := range fields() {
		if _, ok := ofMachine[f.key]; ok {
			continue
		}
		setDefault(s, f, &defaults)
	}
	return s
}

// schemaOf the types that a file writes differently from Go.
func schemaOf(t reflect.Type) *jsonschema.Schema {
	switch t {
	case reflect.TypeFor[time.Duration]():
		return &jsonschema.Schema{OneOf: []*jsonschema.Schema{
			{Type: "string", Pattern: `^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h|d))+$|^[0-9]+(\.[0-9]+)?$`},
			{Type: "number", Minimum: "0", Description: "seconds"},
		}}
	case reflect.TypeFor[FileMode]():
		return &jsonschema.Schema{OneOf: []*jsonschema.Schema{
			{Type: "string", Pattern: `^(0o?)?[0-7]{1,3}$`},
			{Type: "integer", Minimum: "0", Description: "octal digits"},
		}}
	case reflect.TypeFor[ByteSize]():
		return &jsonschema.Schema{OneOf: []*jsonschema.Schema{
			{Type: "string", Pattern: `^[0-9]+(B|KiB|MiB|GiB)?$`},
			{Type: "integer", Minimum: "0", Description: "bytes"},
		}}
	case reflect.TypeFor[words]():
		one := uint64(1)
		text := &jsonschema.Schema{Type: "string", MinLength: &one}
		return &jsonschema.Schema{OneOf: []*jsonschema.Schema{text, {Type: "array", Items: text, MinItems: &one}}}
	default:
		return nil
	}
}

func setDefault(s *jsonschema.Schema, f field, defaults *Config) {
	for part := range strings.SplitSeq(f.key, ".") {
		property, ok := s.Properties.Get(part)
		if !ok {
			panic("config: no schema of " + f.key) // a defect in the tags
		}
		s = property
	}
	switch v := f.of(defaults).Interface().(type) {
	case time.Duration, FileMode, ByteSize:
		s.Default = f.text(defaults)
	case []string:
		s.Default = append([]string{}, v...)
	default:
		s.Default = v
	}
}
