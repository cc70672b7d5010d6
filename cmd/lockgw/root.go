package main

import (
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// configKey marks a flag of a configuration key, which the loader reads.
const configKey = "lockgw_config_key"

// envKey marks a flag that was set from the environment.
const envKey = "lockgw_env"

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "lockgw",
		Short: "Distributed locks for everything on this machine",
		Long: `lockgw is a lock gateway: one per machine, with HTTP and Unix sockets towards
the programs on it and a store such as Redis behind it.

Every flag can be given as an environment variable, --wait as LOCKGW_WAIT.

Exit code: 0 done; 1 the gateway refused (not held, not allowed, no such session, ...) or, of
doctor, a check failed; 64 usage; 69 gateway or store unavailable; 75 not acquired; 122 lost;
125 lockgw itself failed. That of run is mostly its command's; see there.`,
		Args:              usageArgs(noSuchCommand),
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return flagsFromEnv(cmd.Flags()) },
		SilenceErrors:     true,
		SilenceUsage:      true,
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%w; see `%s --help`", err, cmd.CommandPath())
	})
	root.AddGroup(&cobra.Group{ID: "locks", Title: "Locks:"}, &cobra.Group{ID: "gateway", Title: "Gateway:"})
	addToGroup(root, "locks", newRunCommand(), newLockCommand(), newUnlockCommand(), newRenewCommand(), newStatusCommand(), newListCommand(),
		newTopCommand(), newWatchCommand(), newBreakCommand(), newSessionCommand())
	addToGroup(root, "gateway", newServeCommand(), newConfigCommand(), newDoctorCommand(), newBenchCommand(), newManCommand(), newVersionCommand())
	root.AddCommand(newKeeperCommand())
	return root
}

func addToGroup(root *cobra.Command, group string, commands ...*cobra.Command) {
	for _, c := range commands {
		c.GroupID = group
		root.AddCommand(c)
	}
}

// usageArgs makes a wrong number of arguments a usage error.
func usageArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usagef("%w; see `%s --help`", err, cmd.CommandPath())
		}
		return nil
	}
}

// noSuchCommand: of a command that has only sub-commands.
func noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return usagef("unknown command %q%s", args[0], didYouMean(args[0], names))
}

// twin is the environment variable that stands for a flag.
func twin(flag string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// flagsFromEnv sets the flags that were not given from their twins. An empty
// variable sets nothing.
func flagsFromEnv(flags *pflag.FlagSet) (err error) {
	flags.VisitAll(func(f *pflag.Flag) {
		value := os.Getenv(twin(f.Name))
		if f.Changed || f.Name == "help" || f.Annotations[configKey] != nil || value == "" || err != nil {
			return
		}
		if e := flags.Set(f.Name, value); e != nil {
			err = usagef("environment variable %s: %w", twin(f.Name), e)
		}
		_ = flags.SetAnnotation(f.Name, envKey, nil) // fails for a name that is none
	})
	return err
}

// fromEnv: the flag has its value from its twin.
func fromEnv(flags *pflag.FlagSet, name string) bool {
	_, ok := flags.Lookup(name).Annotations[envKey]
	return ok
}

// twins lists the variables of all flags below cmd, those of the configuration
// left out.
func twins(cmd *cobra.Command) (names []string) {
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Annotations[configKey] == nil {
			names = append(names, twin(f.Name))
		}
	})
	for _, c := range cmd.Commands() {
		names = append(names, twins(c)...)
	}
	return names
}
