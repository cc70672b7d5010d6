package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/lockgw/lockgw/socket"
)

// lockLife is how long a hold of `lockgw lock` lasts when nobody says how long,
// as one over HTTP without proof of life.
const lockLife = time.Hour

// lossTold is for how long after --max-hold the session is kept, so that a late
// unlock is told that the lock was lost, and not that nobody knows the session.
const lossTold = 10 * time.Minute

func newLockCommand() *cobra.Command {
	var (
		g            gatewayFlags
		o            socket.LockOptions
		keepalive    time.Duration
		conflictCode = exitNotAcquired
	)
	cmd := &cobra.Command{
		Use:   "lock NAME",
		Short: "Acquire a lock and print its token",
		Long: `Acquire a lock and print the secret token by which unlock and renew speak for
it. It is held until unlock, or until nothing was heard of it for --keepalive.
Prefer run where the work is one command: it ends the hold with it.`,
		Example: `  T=$(lockgw lock nightly --wait 30s) || exit
  ./backup.sh
  LOCKGW_TOKEN=$T lockgw unlock nightly`,
		Args:              usageArgs(cobra.ExactArgs(1)),
		ValidArgsFunction: g.completeFirst,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := errors.Join(checkMode(cmd.Flags(), o.Shared, o.Limit), checkNames(args...)); err != nil {
				return err
			}
			life := cmp.Or(keepalive, lockLife)
			if keepalive == 0 && o.MaxHold > 0 {
				life = o.MaxHold + lossTold
			}
			err := g.with(cmd, "", func(ctx context.Context, c *socket.Client) error {
				return lock(ctx, cmd, c, args[0], o, life)
			})
			return conflict(err, conflictCode)
		},
	}
	f := cmd.Flags()
	g.add(f)
	durationVar(f, &o.Wait, "wait", "how long to wait for the lock (default: try once)")
	positiveVar(f, &o.TTL, "ttl", "lease that the gateway renews")
	positiveVar(f, &o.MaxHold, "max-hold", "end the hold after so long")
	positiveVar(f, &keepalive, "keepalive", "end the hold after so long without a command about it (default: a little more than --max-hold, else 1h)")
	threadVar(f, &o.Thread)
	modeVars(f, &o.Shared, &o.Limit)
	f.StringVar(&o.Note, "note", "", "text that is shown to those who wait")
	exitCodeVar(f, &conflictCode, "conflict-exit-code", "E", "exit code when the lock was not acquired")
	return cmd
}

// lock prints the token last, when there is something to use it for.
func lock(ctx context.Context, cmd *cobra.Command, c *socket.Client, name string, o socket.LockOptions, life time.Duration) error {
	token, err := c.NewSession(ctx, life)
	if err != nil {
		return err
	}
	if _, err := c.Lock(ctx, name, o); err != nil {
		_ = c.EndSession(ctx) // it would live on for nothing; the gateway ends it at last
		if errors.Is(err, socket.ErrNotAcquired) {
			return notAcquired(ctx, c, name)
		}
		return err
	}
	if _, err := fmt.Fprintln(cmd.OutOrStdout(), token.Secret()); err != nil {
		_ = c.EndSession(ctx) // nobody could ever release it
		return exit(exitFailed, fmt.Errorf("write the token: %w; %s is released", err, name))
	}
	return nil
}

// notAcquired says who has the name.
func notAcquired(ctx context.Context, c *socket.Client, name string) error {
	st, err := c.Info(ctx, name)
	if err != nil || st.Holder == nil {
		return exit(exitNotAcquired, fmt.Errorf("%s was not acquired", name))
	}
	return exit(exitNotAcquired, fmt.Errorf("%s is still held by %s", name, holderText(st.Holder)))
}

// conflict gives an error of not having acquired the exit code of -E.
func conflict(err error, code int) error {
	var e *exitError
	if errors.As(err, &e) && e.code == exitNotAcquired {
		return exit(code, e.err)
	}
	return err
}
