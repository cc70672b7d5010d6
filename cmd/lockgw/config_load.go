package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"github.com/spf13/viper"

	"github.com/lockgw/lockgw/session/access"
)

// systemConfigFile is read if it exists and no other file is named.
const systemConfigFile = "/etc/lockgw/lockgw.yaml"

// settings are a configuration and where each value of it comes from.
type settings struct {
	config
	access   access.Config     // what config.Access, Admin and Limits say, with the tokens
	file     string            // that was read; "" if none
	origins  map[string]string // by key, for people: a file with line, a variable, a flag, "default"
	warnings []string
}

// configLoader reads the layers file, environment and flags. It can be asked
// again, as SIGHUP does.
type configLoader struct {
	file  string         // named by the user; "" for systemConfigFile
	flags *pflag.FlagSet // with the flags of addConfigFlags
	// others are the LOCKGW_ variables that mean something elsewhere.
	others []string
}

// load returns the settings, or everything that is wrong with them at once.
func (l configLoader) load() (settings, error) {
	s := settings{config: defaultConfig(), origins: map[string]string{}}
	entries, err := l.readFile(&s)
	problems, bad := []error{err}, map[string]bool{}
	fields := configFields()
	layers := l.layer(fields, entries)
	for _, f := range fields {
		s.origins[f.key] = l.origin(f, entries, s.file)
		if s.origins[f.key] == originDefault {
			continue
		}
		if err := f.set(&s.config, layers.GetString(f.key)); err != nil {
			problems = append(problems, s.problem(f.key, err))
			bad[f.key] = true // its default stands in for it, of which nothing is to be reported
		}
	}
	s.warnings = l.unknownVariables(fields)
	problems = append(problems, s.readSecrets(bad)...)
	return s, errors.Join(append(problems, s.check(bad)...)...)
}

// problem says of which key, and from where, a value is wrong.
func (s settings) problem(key string, err error) error {
	return fmt.Errorf("%s: %w (%s)", key, err, s.origins[key])
}

func (l configLoader) readFile(s *settings) (map[string]entry, error) {
	path := cmp.Or(l.file, systemConfigFile)
	entries, err := readConfigFile(path)
	if l.file == "" && errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	s.file = path
	return entries, err
}

// layer leaves the order of the layers to viper. Its keys are kept flat and its
// values texts: nothing is guessed from a type or a nested map.
func (l configLoader) layer(fields []field, entries map[string]entry) *viper.Viper {
	v := viper.NewWithOptions(viper.KeyDelimiter("::"))
	texts := map[string]any{}
	for key, e := range entries {
		texts[key] = e.text
	}
	_ = v.MergeConfigMap(texts) // fails never: the map has no nested ones
	for _, f := range fields {
		_ = v.BindEnv(f.key, f.env()) // fails only without arguments
		if flag := l.flags.Lookup(f.flag()); flag != nil {
			_ = v.BindPFlag(f.key, flag) // fails only for nil
		}
	}
	return v
}

const originDefault = "default"

func (l configLoader) origin(f field, entries map[string]entry, file string) string {
	if flag := l.flags.Lookup(f.flag()); flag != nil && flag.Changed {
		return "--" + f.flag()
	}
	if os.Getenv(f.env()) != "" { // as viper: an empty variable sets nothing
		return f.env()
	}
	if e, ok := entries[f.key]; ok {
		return fmt.Sprintf("%s:%d", file, e.line)
	}
	return originDefault
}

// unknownVariables warns of names that nothing reads. It is no error: a variable
// may be meant for another version or another command.
func (l configLoader) unknownVariables(fields []field) (warnings []string) {
	known := slices.Clone(l.others)
	for _, f := range fields {
		known = append(known, f.env())
	}
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		if strings.HasPrefix(name, envPrefix) && !slices.Contains(known, name) {
			warnings = append(warnings, fmt.Sprintf("unknown environment variable %s%s", name, didYouMean(name, known)))
		}
	}
	slices.Sort(warnings)
	return warnings
}

// addConfigFlags makes a flag of every key.
func addConfigFlags(flags *pflag.FlagSet) {
	defaults := defaultConfig()
	for _, f := range configFields() {
		v := &configFlag{text: f.text(&defaults), kind: f.kind()}
		flags.Var(v, f.flag(), f.help)
		_ = flags.SetAnnotation(f.flag(), configKey, []string{f.key}) // fails only for a flag that is not there
		if v.kind == "true|false" {
			flags.Lookup(f.flag()).NoOptDefVal = "true"
		}
	}
}

// configFlag keeps a text until the loader reads it, so that errors of all
// layers are found together and read alike.
type configFlag struct{ text, kind string }

func (v *configFlag) String() string     { return v.text }
func (v *configFlag) Type() string       { return v.kind }
func (v *configFlag) Set(s string) error { v.text = s; return nil }
