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

	withoutPassword string // backend.url before that of backend.password_file is put into it
}

// Given tells whether somebody has chosen the value of key.
func (s Settings) Given(key string) bool {
	return s.Origins[key] != originDefault && s.Origins[key] != originFitted
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
	given := layers(fromFile(entries, s.File), fromEnv(fields), l.fromFlags(fields))
	for _, f := range fields {
		v, ok := given.Get(f.key).(value)
		if !ok {
			s.Origins[f.key] = originDefault
			continue
		}
		s.Origins[f.key] = v.origin
		if err := f.set(&s.Config, v.text); err != nil {
			problems = append(problems, s.problem(f.key, err))
			bad[f.key] = true // its default stands in for it, of which nothing is to be reported
		}
	}
	s.Warnings = append(s.Warnings, l.unknownVariables(fields)...)
	problems = append(problems, s.readSecrets(bad)...)
	s.fitDefaults()
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
	s.Warnings = append(s.Warnings, checkWriters(path)...)
	return entries, err
}

const (
	originDefault = "default"
	originFitted  = "default, as far as limits allow" // of one that limits have changed
)

// value is what a layer says of a key, and where, for people.
type value struct{ text, origin string }

// layers has viper merge the layers: of a key that several set, the last one counts, and
// brings its origin along. The keys are kept flat and the values texts: nothing is guessed
// from a type or a nested map.
func layers(all ...map[string]any) *viper.Viper {
	v := viper.NewWithOptions(viper.KeyDelimiter("::"))
	for _, layer := range all {
		_ = v.MergeConfigMap(layer) // fails never: the map has no nested ones
	}
	return v
}

func fromFile(entries map[string]entry, path string) map[string]any {
	values := map[string]any{}
	for key, e := range entries {
		values[key] = value{e.text, fmt.Sprintf("%s:%d", path, e.line)}
	}
	return values
}

// fromEnv: an empty variable sets nothing. White space around a value is dropped, as it is in
// files with secrets: a Secret of Kubernetes that was made of a file ends with a new line.
func fromEnv(fields []field) map[string]any {
	values := map[string]any{}
	for _, f := range fields {
		if text := strings.TrimSpace(os.Getenv(f.env())); text != "" {
			values[f.key] = value{text, f.env()}
		}
	}
	return values
}

func (l loader) fromFlags(fields []field) map[string]any {
	values := map[string]any{}
	for _, f := range fields {
		if flag := l.flags.Lookup(f.flag()); flag != nil && flag.Changed {
			values[f.key] = value{flag.Value.String(), "--" + f.flag()}
		}
	}
	return values
}

// unknownVariables warns of names that neither a key nor a command reads.
func (l loader) unknownVariables(fields []field) []string {
	known := slices.Clone(l.others)
	for _, f := range fields {
		known = append(known, f.env())
	}
	return cli.UnknownVariables(known)
}
