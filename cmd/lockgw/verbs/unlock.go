package verbs

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/socket/client"
)

// tokenFlag is the secret that lock has printed.
type tokenFlag struct{ token string }

func (t *tokenFlag) add(f *pflag.FlagSet) {
	f.StringVar(&t.token, "token", "", "token that lock has printed; better as LOCKGW_TOKEN, for arguments can be seen by others")
}

func (t *tokenFlag) check() error {
	if t.token == "" {
		return cli.Usagef("no token: set LOCKGW_TOKEN to what `lockgw lock` has printed")
	}
	return nil
}

func threadVar(f *pflag.FlagSet, p *int64) {
	*p = 1
	cli.NumberVar(f, p, "thread", 1, "decimal that completes the owner id")
}

// NewUnlock is the command `unlock`.
func NewUnlock() *cobra.Command {
	var (
		g      cli.Gateway
		t      tokenFlag
		o      client.UnlockOptions
		format string
	)
	cmd := &cobra.Command{
		Use:               "unlock NAME",
		Short:             "Release a lock by its token",
		Long:              "Release a lock, by the token that lock has printed, and print how many entries of it are left.",
		Args:              cli.UsageArgs(cobra.ExactArgs(1)),
		ValidArgsFunction: g.CompleteFirst,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := t.check(); err != nil {
				return err
			}
			if err := cli.CheckNames(args...); err != nil {
				return err
			}
			return g.With(cmd, t.token, func(ctx context.Context, c *client.Client) error {
				return unlock(ctx, cmd, c, args[0], o, format)
			})
		},
	}
	f := cmd.Flags()
	g.AddFlag(f)
	t.add(f)
	threadVar(f, &o.Thread)
	f.BoolVar(&o.All, "all", false, "release every entry")
	cli.JSONVar(f, &format)
	return cmd
}

// unlock ends a session that holds nothing any more: lock has opened one for
// each lock, and it would stay until its keepalive is over.
func unlock(ctx context.Context, cmd *cobra.Command, c *client.Client, name string, o client.UnlockOptions, format string) error {
	left, err := c.Unlock(ctx, name, o)
	if err != nil {
		return err
	}
	if left == 0 {
		info, err := c.Session(ctx)
		if err == nil && info.Keepalive > 0 && len(info.Holds) == 0 {
			_ = c.EndSession(ctx) // the lock is released all the same
		}
	}
	if format == "json" {
		return cli.WriteJSON(cmd.OutOrStdout(), releasedOut{Name: name, Released: left == 0, Count: left})
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), left)
	return err
}
