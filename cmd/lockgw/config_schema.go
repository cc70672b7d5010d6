package main

import (
	"reflect"
	"strings"
	"time"

	"github.com/invopop/jsonschema"
	"github.com/spf13/cobra"
)

func newConfigSchemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of the configuration file, for editors",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return writeJSON(cmd.OutOrStdout(), configSchema())
		},
	}
}

// configSchema says of a file what the loader says of it, as far as a schema can.
func configSchema() *jsonschema.Schema {
	r := jsonschema.Reflector{
		FieldNameTag: "yaml", Anonymous: true, ExpandedStruct: true, DoNotReference: true,
		RequiredFromJSONSchemaTags: true, Mapper: schemaOf,
	}
	s := r.Reflect(&config{})
	s.Title = "lockgw configuration"
	defaults := defaultConfig()
	for _, f := range configFields() {
		if f.key == "node" || f.key == "state_dir" || f.key == "socket.dir" {
			continue // they depend on the machine and the user
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
			{Type: "string", Pattern: `^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$|^[0-9]+(\.[0-9]+)?$`},
			{Type: "number", Minimum: "0", Description: "seconds"},
		}}
	case reflect.TypeFor[fileMode]():
		return &jsonschema.Schema{OneOf: []*jsonschema.Schema{
			{Type: "string", Pattern: `^(0o?)?[0-7]{1,3}$`},
			{Type: "integer", Minimum: "0", Description: "octal digits"},
		}}
	case reflect.TypeFor[words]():
		one := uint64(1)
		text := &jsonschema.Schema{Type: "string", MinLength: &one}
		return &jsonschema.Schema{OneOf: []*jsonschema.Schema{text, {Type: "array", Items: text, MinItems: &one}}}
	default:
		return nil
	}
}

func setDefault(s *jsonschema.Schema, f field, defaults *config) {
	for part := range strings.SplitSeq(f.key, ".") {
		property, ok := s.Properties.Get(part)
		if !ok {
			panic("config: no schema of " + f.key) // a defect in the tags
		}
		s = property
	}
	switch v := f.of(defaults).Interface().(type) {
	case time.Duration, fileMode:
		s.Default = f.text(defaults)
	case []string:
		s.Default = append([]string{}, v...)
	default:
		s.Default = v
	}
}
