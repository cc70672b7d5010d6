// Package run is `lockgw run`: a command that runs while its locks are held, and is
// stopped before somebody else can have them.
//
// A run has a guardian: a process to which the locks are bound, and which lives on if the
// run is killed. Both supervise the command in the same way. The deadlines that they read
// from the gateway decide how long the command may go on.
package run

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/socket/client"
)

// options are the flags of `lockgw run`.
type options struct {
	cli.Gateway
	// dial is set by tests, in place of a connection to the gateway.
	dial  func(context.Context, client.Options) (gateway, error)
	names []string // sorted, so that two commands never wait for each other
	argv  []string

	wait          time.Duration
	forever       bool // no bound on the wait
	noWait        bool
	ttl           time.Duration
	minHold       time.Duration
	maxRuntime    time.Duration
	killAfter     time.Duration
	signal        syscall.Signal
	shared        bool
	limit         int
	conflictCode  int
	onUnavailable string
	note          string
	quiet, json   bool
}

// New is the command `run`.
func New() *cobra.Command {
	o := &options{signal: syscall.SIGTERM, killAfter: 10 * time.Second, conflictCode: cli.ExitNotAcquired, onUnavailable: "fail"}
	cmd := &cobra.Command{
		Use:   "run NAME... [flags] -- COMMAND [ARG...]",
		Short: "Run a command while holding locks",
		Long: `Run a command, without a shell, while holding one or several locks: all of
them or none. If a lock is lost, the command and what it has started are stopped
before anybody else can have been granted it.

The locks last as long as the command, also if run itself is killed (kill -9).

The command finds LOCKGW_LOCK, LOCKGW_FENCE, LOCKGW_OWNER, LOCKGW_TOKEN and
LOCKGW_SOCKET in its environment; of several locks, names and fences are
separated by a space.

Exit code: that of the command, or 128 + the signal that ended it; 64 usage;
69 gateway or store unavailable; 75 not acquired; 122 lost, command stopped;
124 --max-runtime reached; 125 lockgw failed, the lock was refused, or the gateway's
socket may not be used; 126 and 127 the command cannot be executed or found.`,
		Example: `  lockgw run nightly -- ./backup.sh
  lockgw run nightly -n -E 0 -- ./backup.sh      # skip if somebody else runs it`,
		ValidArgsFunction: o.completeArg,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.read(cmd, args); err != nil {
				return err
			}
			return run(cmd.Context(), o)
		},
	}
	o.add(cmd.Flags())
	return cmd
}

// completeArg offers names of locks, and files behind a --, where the command stands. Cobra
// does not tell of the --: it has the words before parsed with one of its own at their end.
func (o *options) completeArg(cmd *cobra.Command, args []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if slices.Contains(os.Args[:len(os.Args)-1], "--") {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return o.CompleteName(cmd, args, toComplete)
}

// notCommands replaces the exit codes 1 and 77, which could come from the command. Other verbs
// end with them when the gateway refuses, or when they may not use it.
func notCommands(err error) error {
	if e, ok := errors.AsType[*cli.ExitError](err); ok && (e.Code == cli.ExitRefused || e.Code == cli.ExitNoPermission) && e.Err != nil {
		return cli.Exit(cli.ExitFailed, e.Err)
	}
	return err
}

func (o *options) add(f *pflag.FlagSet) {
	o.Gateway.AddFlag(f)
	cli.DurationVar(f, &o.wait, "wait", "how long to wait for the locks (default: as long as it takes)")
	f.BoolVarP(&o.noWait, "no-wait", "n", false, "do not wait, as --wait 0")
	cli.PositiveVar(f, &o.ttl, "ttl", "lease that the gateway renews; how long the locks outlive a gateway that dies")
	cli.DurationVar(f, &o.minHold, "min-hold", "keep the locks for so long even if the command ends before")
	cli.PositiveVar(f, &o.maxRuntime, "max-runtime", "stop the command after so long")
	cli.DurationVar(f, &o.killAfter, "kill-after", "how long a command may take to stop before it is killed")
	cli.SignalVar(f, &o.signal, "signal", "signal that asks the command to stop")
	cli.ModeVars(f, &o.shared, &o.limit)
	cli.ExitCodeVar(f, &o.conflictCode, "conflict-exit-code", "E", "exit code when the locks were not acquired")
	cli.ChoiceVar(f, &o.onUnavailable, "on-unavailable", "", "what to do when the gateway or its store is down: fail, skip the command, or run it unlocked", "fail", "skip", "run")
	f.StringVar(&o.note, "note", "", "text that is shown to those who wait (default: the name of the command)")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "do not report the wait and its end")
	f.BoolVar(&o.json, "json", false, "report on stderr as JSON, one object a line")
}

// read checks what the types of the flags do not.
func (o *options) read(cmd *cobra.Command, args []string) error {
	dash := cmd.ArgsLenAtDash()
	switch {
	case dash < 0:
		return cli.Usagef("the command has to stand after --, as in: lockgw run NAME -- COMMAND")
	case dash == 0:
		return cli.Usagef("no lock name before --, as in: lockgw run NAME -- COMMAND")
	case dash == len(args):
		return cli.Usagef("no command after --, as in: lockgw run NAME -- COMMAND")
	}
	if err := cli.CheckMode(cmd.Flags(), o.shared, o.limit); err != nil {
		return err
	}
	o.names, o.argv = slices.Clone(args[:dash]), args[dash:]
	slices.Sort(o.names)
	o.names = slices.Compact(o.names)
	if o.note == "" {
		o.note = filepath.Base(o.argv[0])
	}
	if err := o.readWait(cmd.Flags()); err != nil {
		return err
	}
	return cli.CheckNames(o.names...)
}

// readWait reads --wait and --no-wait. A flag on the command line counts over a variable.
func (o *options) readWait(f *pflag.FlagSet) error {
	o.forever = !f.Changed("wait")
	typed, bound := f.Changed("no-wait") && !cli.FromEnv(f, "no-wait"), f.Changed("wait") && !cli.FromEnv(f, "wait")
	switch {
	case !o.noWait, bound && !typed:
	case o.wait > 0 && typed == bound:
		return cli.Usagef("--no-wait (-n) and --wait %s exclude each other", cli.Duration(o.wait))
	default:
		o.wait, o.forever = 0, false
	}
	return nil
}
