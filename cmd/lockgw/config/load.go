package config

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

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/session/access"
)

// systemFile is read if it exists and no other file is named.
const systemFile = "/etc/lockgw/lockgw.yaml"

// Settings are a configuration and where each value of it comes from.
type Settings struct {
	Config
	Admission access.Config     // what config.Access, Admin and Limits say, with the tokens
	File      string            // that was read; "" if none
	Origins   map[string]string // by key, for people: a file with line, a variable, a flag, "default"
	Warnings  []string
}

// loader reads the layers file, environment and flags. It can be asked
// again, as SIGHUP does.
type loader struct {
	file  string         // named by the user; "" for systemFile
	flags *pflag.FlagSet // with the flags of addKeys
	// others are the LOCKGW_ variables that mean something elsewhere.
	others []string
}

// load returns the settings, or everything that is wrong with them at once.
func (l loader) load() (Settings, error) {
	s := Settings{Config: Default(), Origins: map[string]string{}}
	entries, err := l.readFile(&s)
	problems, bad := []error{err}, map[string]bool{}
	fields := fields()
	layers := l.layer(fields, entries)
	for _, f := range fields {
		s.Origins[f.key] = l.origin(f, entries, s.File)
		if s.Origins[f.key] == originDefault {
			continue
		}
		if err := f.set(&s.Config, layers.GetString(f.key)); err != nil {
			problems = append(problems, s.problem(f.key, err))
			bad[f.key] = true // its default stands in for it, of which nothing is to be reported
		}
	}
	s.Warnings = l.unknownVariables(fields)
	problems = append(problems, s.readSecrets(bad)...)
	return s, errors.Join(append(problems, s.check(bad)...)...)
}

// problem says of which key, and from where, a value is wrong.
func (s Settings) problem(key string, err error) error {
	return fmt.Errorf("%s: %w (%s)", key, err, s.Origins[key])
}

func (l loader) readFile(s *Settings) (map[string]entry, error) {
	path := cmp.Or(l.file, systemFile)
	entries, err := readFile(path)
	if l.file == "" && errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	s.File = path
	return entries, err
}

// layer leaves the order of the layers to viper. Its keys are kept flat and its
// values texts: nothing is guessed from a type or a nested map.
func (l loader) layer(fields []field, entries map[string]entry) *viper.Viper {
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

func (l loader) origin(f field, entries map[string]entry, file string) string {
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
func (l loader) unknownVariables(fields []field) (warnings []string) {
	known := slices.Clone(l.others)
	for _, f := range fields {
		known = append(known, f.env())
	}
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		if strings.HasPrefix(name, cli.EnvPrefix) && !slices.Contains(known, name) {
			warnings = append(warnings, fmt.Sprintf("unknown environment variable %s%s", name, cli.DidYouMean(name, known)))
		}
	}
	slices.Sort(warnings)
	return warnings
}
