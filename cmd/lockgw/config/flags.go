package config

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
)

// AddFlags gives cmd the flags of the configuration and returns what reads it.
func AddFlags(cmd *cobra.Command) func() (Settings, error) {
	l := &loader{flags: cmd.Flags()}
	cmd.Flags().StringVar(&l.file, "config", "", "configuration file (default: "+systemFile+" if it exists)")
	addKeys(cmd.Flags())
	cmd.SetUsageFunc(writeUsage)
	return func() (Settings, error) {
		l.others = append(cli.EnvVars(cmd.Root()), cli.CommandEnv...)
		s, err := l.load()
		if err != nil {
			return s, cli.Exit(cli.ExitUsage, invalid{err})
		}
		return s, nil
	}
}

// Typed says whether a flag of the configuration was given on the command line.
func Typed(cmd *cobra.Command) (typed bool) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		typed = typed || keyOf(f) != "" || f.Name == "config" && !cli.FromEnv(cmd.Flags(), "config")
	})
	return typed
}

// invalid is all that is wrong with a configuration.
type invalid struct{ error }

// Error puts every line under the sentence before it.
func (e invalid) Error() string {
	return "the configuration is not valid:\n  " + strings.ReplaceAll(e.error.Error(), "\n", "\n  ")
}

func (e invalid) Unwrap() error { return e.error }

// each is the text of each error of those that err joins.
func each(err error) (texts []string) {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []string{err.Error()}
	}
	for _, e := range joined.Unwrap() {
		texts = append(texts, each(e)...)
	}
	return texts
}

// addKeys makes a flag of every key.
func addKeys(flags *pflag.FlagSet) {
	defaults := Default()
	for _, f := range fields() {
		v := &keyFlag{text: f.text(&defaults), kind: f.kind()}
		flags.Var(v, f.flag(), f.help)
		_ = flags.SetAnnotation(f.flag(), cli.ConfigKey, []string{f.key}) // fails only for a flag that is not there
		if text, ok := ofMachine[f.key]; ok {
			_ = flags.SetAnnotation(f.flag(), cli.DefaultText, []string{text})
		}
		if v.kind == "true|false" {
			flags.Lookup(f.flag()).NoOptDefVal = "true"
		}
	}
}

// ofMachine are the defaults that depend on the machine and the user, in words.
var ofMachine = map[string]string{
	"node":       "the host name",
	"state_dir":  "/var/lib/lockgw, or $XDG_STATE_HOME/lockgw when not root",
	"socket.dir": "/run/lockgw, or $XDG_RUNTIME_DIR/lockgw when not root",
}

// keyFlag keeps a text until the loader reads it, so that errors of all
// layers are found together and read alike.
type keyFlag struct{ text, kind string }

func (v *keyFlag) String() string { return v.text }

func (v *keyFlag) Type() string { return v.kind }

func (v *keyFlag) Set(s string) error { v.text = s; return nil }
