package cli

import (
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// EnvPrefix begins the name of every environment variable of lockgw.
const EnvPrefix = "LOCKGW_"

// ConfigKey marks a flag of a configuration key, which the loader reads.
const ConfigKey = "lockgw_config_key"

// envKey marks a flag that was set from the environment.
const envKey = "lockgw_env"

// EnvVar is the environment variable that stands for a flag.
func EnvVar(flag string) string {
	return EnvPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// FlagsFromEnv sets the flags that were not given from their environment variables. An empty
// variable sets nothing.
func FlagsFromEnv(flags *pflag.FlagSet) (err error) {
	flags.VisitAll(func(f *pflag.Flag) {
		value := os.Getenv(EnvVar(f.Name))
		if f.Changed || f.Name == "help" || f.Annotations[ConfigKey] != nil || value == "" || err != nil {
			return
		}
		if e := flags.Set(f.Name, value); e != nil {
			err = Usagef("environment variable %s: %w", EnvVar(f.Name), e)
		}
		_ = flags.SetAnnotation(f.Name, envKey, nil) // fails for a name that is none
	})
	return err
}

// FromEnv: the flag has its value from its environment variable.
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

// CommandEnv are the variables that tell a command about its locks.
var CommandEnv = []string{"LOCKGW_LOCK", "LOCKGW_FENCE", "LOCKGW_OWNER", "LOCKGW_TOKEN", "LOCKGW_SOCKET"}
