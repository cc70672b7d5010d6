package cli

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// EnvPrefix begins the name of every environment variable of lockgw.
const EnvPrefix = "LOCKGW_"

// ConfigKey marks a flag of a configuration key, which the loader reads.
const ConfigKey = "lockgw_config_key"

// DefaultText is, in words, the default of a flag that has another one on each machine.
const DefaultText = "lockgw_default_text"

// envKey marks a flag that was set from the environment.
const envKey = "lockgw_env"

// EnvVar is the environment variable that stands for a flag.
func EnvVar(flag string) string {
	return EnvPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// sameAs names the flag that sets the same thing as the one which has it: whichever of the two
// is given, the variable of neither counts.
const sameAs = "lockgw_same_as"

// ofOthers has the values that a flag of this name takes at some command. The variable is for
// all commands: one of these counts for nothing where the flag does not take it.
const ofOthers = "lockgw_of_others"

// FlagsFromEnv sets the flags that were not given from their environment variables. An empty
// variable sets nothing.
func FlagsFromEnv(flags *pflag.FlagSet) (err error) {
	given := map[string]bool{}
	flags.Visit(func(f *pflag.Flag) { given[f.Name] = true })
	flags.VisitAll(func(f *pflag.Flag) {
		value := os.Getenv(EnvVar(f.Name))
		if twin := f.Annotations[sameAs]; twin != nil && given[twin[0]] {
			return
		}
		if f.Changed || f.Name == "help" || f.Name == "version" || f.Annotations[ConfigKey] != nil || value == "" || err != nil {
			return
		}
		e := flags.Set(f.Name, value)
		if e != nil && slices.Contains(f.Annotations[ofOthers], value) {
			return
		}
		if e != nil {
			err = Usagef("environment variable %s: %w", EnvVar(f.Name), valueError(e))
		}
		_ = flags.SetAnnotation(f.Name, envKey, nil) // fails for a name that is none
	})
	return err
}

// FromEnv says whether the flag has its value from its environment variable.
func FromEnv(flags *pflag.FlagSet, name string) bool {
	_, ok := flags.Lookup(name).Annotations[envKey]
	return ok
}

// EnvVars lists the variables of all flags below cmd, those of the configuration
// left out.
func EnvVars(cmd *cobra.Command) (names []string) {
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Annotations[ConfigKey] == nil {
			names = append(names, EnvVar(f.Name))
		}
	})
	for _, c := range cmd.Commands() {
		names = append(names, EnvVars(c)...)
	}
	return names
}

// UnknownVariables are the variables of lockgw's that nothing reads, each as a warning.
// It is no error: one may be meant for another version. Kubernetes makes some of its own for
// a Service that is called lockgw.
func UnknownVariables(known []string) (warnings []string) {
	for _, variable := range os.Environ() {
		name, value, _ := strings.Cut(variable, "=")
		if value != "" && strings.HasPrefix(name, EnvPrefix) && !ofService.MatchString(name) && !slices.Contains(known, name) {
			warnings = append(warnings, fmt.Sprintf("unknown environment variable %s%s", name, DidYouMean(name, known)))
		}
	}
	slices.Sort(warnings)
	return warnings
}

var ofService = regexp.MustCompile(`^LOCKGW_(SERVICE_(HOST|PORT)|PORT$|PORT_[0-9])`)

// warnUnknown tells of variables that no command of the program reads. A command with the
// keys of the configuration tells of them by itself, and quiet ones tell of nothing.
func warnUnknown(cmd *cobra.Command) {
	quiet := cmd.Flags().Lookup("quiet")
	if cmd.Hidden || quiet != nil && quiet.Changed || hasKeys(cmd.Flags()) {
		return
	}
	known := append(EnvVars(cmd.Root()), CommandEnv...)
	for _, c := range cmd.Root().Commands() {
		known = append(known, keyVars(c.Flags())...)
	}
	for _, warning := range UnknownVariables(known) {
		fmt.Fprintln(cmd.ErrOrStderr(), "lockgw: warning:", warning)
	}
}

func hasKeys(flags *pflag.FlagSet) bool { return len(keyVars(flags)) > 0 }

// keyVars are the variables of the keys of the configuration.
func keyVars(flags *pflag.FlagSet) (names []string) {
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Annotations[ConfigKey] != nil {
			names = append(names, EnvVar(f.Name))
		}
	})
	return names
}

// CommandEnv are the variables that tell a command about its locks.
var CommandEnv = []string{"LOCKGW_LOCK", "LOCKGW_FENCE", "LOCKGW_OWNER", "LOCKGW_TOKEN", "LOCKGW_SOCKET"}
