// Package verbs has the commands that send a gateway one request, or follow its events.
package verbs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/socket/client"
)

// lockLife is how long a hold of `lockgw lock` lasts without --keepalive and --max-hold, as
// long as one over HTTP without proof of life.
const lockLife = time.Hour

// lossTold is how long the session is kept after --max-hold, so that a late unlock is told
// that the lock was lost, and not that there is no such session.
const lossTold = 10 * time.Minute

// NewLock is the command `lock`.
func NewLock() *cobra.Command {
	var (
		g            cli.Gateway
		o            client.LockOptions
		keepalive    time.Duration
		format       string
		conflictCode = cli.ExitNotAcquired
	)
	cmd := &cobra.Command{
		Use:   "lock NAME",
		Short: "Acquire a lock and print its token",
		Long: `Acquire a lock and print the secret token by which unlock and renew speak for
it. It is held until unlock, or until --keepalive passes without a request.
Prefer run where the work is one command: it ends the hold with it.`,
		Example: `  T=$(lockgw lock nightly --wait 30s) || exit
  ./backup.sh
  LOCKGW_TOKEN=$T lockgw unlock nightly`,
		Args:              cli.UsageArgs(cobra.ExactArgs(1)),
		ValidArgsFunction: g.CompleteFirst,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := errors.Join(cli.CheckMode(cmd.Flags(), o.Shared, o.Limit), cli.CheckNames(args...)); err != nil {
				return err
			}
			if o.MaxHold == 0 && keepalive == 0 {
				if err := needStdout("lock "+args[0], ", or give --max-hold or --keepalive"); err != nil {
					return err
				}
			}
			cli.CatchBrokenPipe()
			ctx, stop := untilEnded(cmd.Context(), cli.Unread(cmd.OutOrStdout()))
			defer stop()
			cmd.SetContext(ctx)
			err := g.With(cmd, "", func(ctx context.Context, c *client.Client) error {
				return lock(ctx, cmd, g, c, args[0], o, keepalive, format)
			})
			return cli.Conflict(orEnded(ctx, err, args[0]), conflictCode)
		},
	}
	f := cmd.Flags()
	g.AddFlag(f)
	cli.DurationVar(f, &o.Wait, "wait", "how long to wait for the lock (default: try once)")
	cli.PositiveVar(f, &o.TTL, "ttl", "lease that the gateway renews")
	cli.PositiveVar(f, &o.MaxHold, "max-hold", "end the hold after so long")
	cli.PositiveVar(f, &keepalive, "keepalive", "end the hold after so long without a command about it (default: a little more than --max-hold, else 1h)")
	threadVar(f, &o.Thread)
	cli.ModeVars(f, &o.Shared, &o.Limit)
	f.StringVar(&o.Note, "note", "", "text that is shown to those who wait")
	cli.JSONVar(f, &format)
	cli.ExitCodeVar(f, &conflictCode, "conflict-exit-code", "E", "exit code when the lock was not acquired")
	return cmd
}

// lock prints the token last, once the lock is held.
func lock(ctx context.Context, cmd *cobra.Command, g cli.Gateway, c *client.Client, name string, o client.LockOptions, keepalive time.Duration, format string) error {
	token, err := openSession(ctx, c, o.MaxHold, keepalive)
	if err != nil {
		return err
	}
	_ = c.Show(ctx, os.Getppid()) // shows the script as holder: this process is about to end
	h, err := c.Lock(ctx, name, o)
	if err = cmp.Or(err, ctx.Err()); err != nil {
		endSession(ctx, g, c, token) // nobody needs it
		if errors.Is(err, client.ErrNotAcquired) {
			return cli.NotAcquired(ctx, c, name)
		}
		return err
	}
	if err := cli.WriteResult(cmd.OutOrStdout(), format, newHoldOut(h, token), token.Secret()); err != nil {
		endSession(ctx, g, c, token) // nobody could ever release it
		return cli.Exit(cli.ExitFailed, fmt.Errorf("write the token: %w; %s is released", err, name))
	}
	return nil
}

// needStdout refuses what would stay with a token that nobody has.
func needStdout(command, otherwise string) error {
	if !cli.NoStdout() {
		return nil
	}
	return cli.Usagef("nobody would have the token, for stdout is closed, or /dev/null opened for reading and writing, which looks the same: "+
		"catch it, as T=$(lockgw %s) does%s, or throw it away with >/dev/null", command, otherwise)
}

// openSession opens the session of a lock. How long a keepalive may be is the gateway's to say:
// of one that nobody has asked for, the error says where it comes from. The end of ctx does not cut it
// off: the gateway may have opened the session, and nobody would have its token.
func openSession(ctx context.Context, c *client.Client, maxHold, keepalive time.Duration) (client.Token, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cli.DialTimeout)
	defer cancel()
	if keepalive > 0 {
		return c.NewLockSession(ctx, keepalive)
	}
	life := cmp.Or(maxHold, lockLife)
	if maxHold > 0 {
		if token, err := c.NewLockSession(ctx, maxHold+lossTold); !errors.Is(err, client.ErrInvalid) {
			return token, err
		} // without being told for long that the lock was lost
	}
	token, err := c.NewLockSession(ctx, life)
	if errors.Is(err, client.ErrInvalid) {
		err = cli.Usagef("the gateway refused: %w; without --keepalive it is %s here: give one that is allowed, and have a command about the lock as often", err, cli.Duration(life))
	}
	return token, err
}

// endSession ends the session of a token that nobody was told, also after a signal, which has
// cut off what was under way. If that fails, the session ends by its keepalive.
func endSession(ctx context.Context, g cli.Gateway, c *client.Client, token client.Token) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cli.DialTimeout)
	defer cancel()
	if c.Err() != nil {
		again, err := g.Dial(ctx, client.Options{Token: token})
		if err != nil {
			return
		}
		defer again.Close()
		c = again
	}
	_ = c.EndSession(ctx)
}

// ended is why a context ended: this process was asked to.
type ended struct{ signal syscall.Signal }

func (e ended) Error() string { return "ended by a signal: " + e.signal.String() }

// errUnread is why a context ended: nobody reads the token any more, as when the script has died
// that waits for it.
var errUnread = fmt.Errorf("write the token: %w", syscall.EPIPE)

// untilEnded is ctx until this process is asked to end, or unread is closed. The next signal ends
// the process.
func untilEnded(ctx context.Context, unread <-chan struct{}) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	c := make(chan os.Signal, 1)
	cli.Notify(c, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	go func() {
		defer signal.Stop(c)
		select {
		case s := <-c:
			cancel(ended{s.(syscall.Signal)})
			<-time.After(cli.SameSignal)
		case <-unread:
			cancel(errUnread)
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

// orEnded is err, or in its place why ctx of untilEnded ended, if that is what it comes from.
func orEnded(ctx context.Context, err error, name string) error {
	cause := context.Cause(ctx)
	code := cli.ExitFailed
	by := ended{}
	switch {
	case err == nil:
		return nil
	case errors.As(cause, &by):
		code = cli.ExitSignal + int(by.signal)
	case !errors.Is(cause, errUnread) || !errors.Is(err, context.Canceled):
		return err
	}
	return cli.Exit(code, fmt.Errorf("%w; %s is not held", cause, name))
}
