package main

import (
	"errors"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lockgw/lockgw/session"
)

// runOptions are the flags of `lockgw run`.
type runOptions struct {
	gatewayFlags
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

func newRunCommand() *cobra.Command {
	o := &runOptions{signal: syscall.SIGTERM, killAfter: 10 * time.Second, conflictCode: exitNotAcquired, onUnavailable: "fail"}
	cmd := &cobra.Command{
		Use:   "run NAME... [flags] -- COMMAND [ARG...]",
		Short: "Run a command while holding locks",
		Long: `Run a command, without a shell, while holding one or several locks: all of
them or none. If a lock is lost, the command and its process group are stopped
before anybody else can have been granted it.

The locks last as long as the command, also if run itself is killed (kill -9).

The command finds LOCKGW_LOCK, LOCKGW_FENCE, LOCKGW_OWNER, LOCKGW_TOKEN and
LOCKGW_SOCKET in its environment; of several locks, names and fences are
separated by a space.

Exit code: that of the command, or 128 + the signal that ended it; 64 usage;
69 gateway or store unavailable; 75 not acquired; 122 lost, command stopped;
124 --max-runtime reached; 125 lockgw failed; 126 and 127 the command cannot be
executed or found. 125 is also the end of run when the gateway refuses a lock for good:
1 is left to the command.`,
		Example: `  lockgw run nightly -- ./backup.sh
  lockgw run nightly -n -E 0 -- ./backup.sh      # skip if somebody else runs it`,
		ValidArgsFunction: o.completeName,
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

// notCommands keeps 1, by which other verbs say that the gateway refused, for the
// command that is run.
func notCommands(err error) error {
	var e *exitError
	if errors.As(err, &e) && e.code == exitRefused && e.err != nil {
		return exit(exitFailed, e.err)
	}
	return err
}

func (o *runOptions) add(f *pflag.FlagSet) {
	o.gatewayFlags.add(f)
	durationVar(f, &o.wait, "wait", "how long to wait for the locks (default: as long as it takes)")
	f.BoolVarP(&o.noWait, "no-wait", "n", false, "do not wait, as --wait 0")
	positiveVar(f, &o.ttl, "ttl", "lease that the gateway renews; how long the locks outlive a gateway that dies")
	durationVar(f, &o.minHold, "min-hold", "keep the locks for so long even if the command ends before")
	positiveVar(f, &o.maxRuntime, "max-runtime", "stop the command after so long")
	durationVar(f, &o.killAfter, "kill-after", "how long a command may take to stop before it is killed")
	signalVar(f, &o.signal, "signal", "signal that asks the command to stop")
	modeVars(f, &o.shared, &o.limit)
	exitCodeVar(f, &o.conflictCode, "conflict-exit-code", "E", "exit code when the locks were not acquired")
	choiceVar(f, &o.onUnavailable, "on-unavailable", "", "what to do when the gateway or its store is: fail, skip the command, or run it unlocked", "fail", "skip", "run")
	f.StringVar(&o.note, "note", "", "text that is shown to those who wait (default: the name of the command)")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "do not report the wait and its end")
	f.BoolVar(&o.json, "json", false, "report on stderr as JSON, one object a line")
}

// modeVars adds the flags that say who else may hold a lock.
func modeVars(f *pflag.FlagSet, shared *bool, limit *int) {
	f.BoolVarP(shared, "shared", "s", false, "let others hold the lock too, if they share it")
	f.IntVar(limit, "limit", 0, "let so many hold the lock at the same time (a semaphore)")
}

func checkMode(f *pflag.FlagSet, shared bool, limit int) error {
	switch {
	case f.Changed("limit") && (limit < 1 || limit > session.MaxLimit):
		return usagef("--limit: must be between 1 and %d", session.MaxLimit)
	case shared && limit > 0:
		return usagef("--shared and --limit exclude each other")
	default:
		return nil
	}
}

// read checks what flags alone do not.
func (o *runOptions) read(cmd *cobra.Command, args []string) error {
	dash := cmd.ArgsLenAtDash()
	switch {
	case dash < 0:
		return usagef("the command has to stand after --, as in: lockgw run NAME -- COMMAND")
	case dash == 0:
		return usagef("no lock name before --, as in: lockgw run NAME -- COMMAND")
	case dash == len(args):
		return usagef("no command after --, as in: lockgw run NAME -- COMMAND")
	}
	if err := checkMode(cmd.Flags(), o.shared, o.limit); err != nil {
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
	return checkNames(o.names...)
}

// readWait: what was typed counts over the environment.
func (o *runOptions) readWait(f *pflag.FlagSet) error {
	o.forever = !f.Changed("wait")
	typed, bound := f.Changed("no-wait") && !fromEnv(f, "no-wait"), f.Changed("wait") && !fromEnv(f, "wait")
	switch {
	case !o.noWait, bound && !typed:
	case o.wait > 0 && typed == bound:
		return usagef("--no-wait (-n) and --wait %s exclude each other", duration(o.wait))
	default:
		o.wait, o.forever = 0, false
	}
	return nil
}
