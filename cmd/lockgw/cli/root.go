// Package cli is what the commands of lockgw share: how flags and environment variables
// are read, how the gateway is found and called, how a command writes its output, and with
// which exit code it ends.
package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
)

// Run runs the program, says on stderr what went wrong, and returns the exit code.
func Run(root *cobra.Command) int {
	refuseUnknown(root)
	completeChoices(root)
	var unwritten error
	setHelp(root, &unwritten)
	err := root.Execute()
	code, message := ExitCode(cmp.Or(err, unwritten))
	if message != "" {
		fmt.Fprintln(os.Stderr, "lockgw:", printableLines(message))
	}
	return code
}

// NewRoot is the program without its commands. Every flag that is not given is set from
// its environment variable.
func NewRoot() *cobra.Command {
	var (
		version bool
		format  string
	)
	root := &cobra.Command{
		Use:   "lockgw",
		Short: "Distributed locks for everything on this machine",
		Long: `lockgw is a lock gateway: one per machine, with HTTP and Unix sockets towards
the programs on it and a store such as Redis behind it.

Every flag can be given as an environment variable, --wait as LOCKGW_WAIT.
LOCKGW_OUTPUT is for the commands with --output; one that lacks the form which it names writes
its default. LOCKGW_JSON is for all with --json, so also for lock, whose token a script reads.
` + durations + `

Exit code: 0 done; 1 the gateway refused (not held, not allowed, no such session, ...) or, of
doctor, a check failed; 64 usage; 69 gateway or store unavailable; 75 not acquired; 77 may not
use the gateway's socket; 122 lost; 125 lockgw itself failed. run returns its command's exit code.`,
		Args: UsageArgs(NoSuchCommand),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if version {
				return WriteVersion(cmd.OutOrStdout(), format)
			}
			return cmd.Help()
		},
		PersistentPreRunE: func(cmd *cobra.Command, args []string) error {
			if err := refuseValue(cmd.Flags(), args, os.Args); err != nil {
				return err
			}
			warnUnknown(cmd)
			return FlagsFromEnv(cmd.Flags())
		},
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	// Cobra's own flag knows one form of the version only.
	root.Flags().BoolVarP(&version, "version", "v", false, "version for lockgw")
	JSONVar(root.Flags(), &format)
	root.Flags().Lookup("json").Usage = "with --version: as JSON"
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return Usagef("%w; see `%s --help`", valueError(err), cmd.CommandPath())
	})
	return root
}

// valueError says of a flag's value what it has to be, where err has words of Go's parser for it.
func valueError(err error) error {
	n, ok := errors.AsType[*strconv.NumError](err)
	if !ok {
		return err
	}
	want := "must be a whole number"
	switch {
	case n.Func == "ParseBool":
		want = "must be true or false"
	case errors.Is(n.Err, strconv.ErrRange):
		want = "is out of range"
	}
	return errors.New(strings.Replace(err.Error(), n.Error(), want, 1))
}

// refuseUnknown makes a wrong argument of the commands that cobra adds a usage error, as it is of
// all others.
func refuseUnknown(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.Args = UsageArgs(func(_ *cobra.Command, args []string) error {
				of, rest, err := root.Find(args)
				if err != nil || !of.HasSubCommands() {
					return err
				}
				return NoSuchCommand(of, rest)
			})
		case "completion":
			c.Args = UsageArgs(NoSuchCommand)
			c.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
			for _, shell := range c.Commands() {
				shell.Args = UsageArgs(NoArgs)
			}
		}
	}
}

// UsageArgs makes a wrong number of arguments a usage error.
func UsageArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return Usagef("%w%s; see `%s --help`", err, asValue(cmd.Flags(), args, os.Args), cmd.CommandPath())
		}
		return nil
	}
}

// NoArgs is the error of a command that has only flags.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return Usagef("%q is too much: %s takes only flags", args[0], cmd.CommandPath())
}

// NoSuchCommand is the error of a command that has only sub-commands.
func NoSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	if slices.Contains(names, args[0]) {
		return Usagef("leave out the -- before the command %s", args[0])
	}
	return Usagef("unknown command %q%s", args[0], DidYouMean(args[0], names))
}
