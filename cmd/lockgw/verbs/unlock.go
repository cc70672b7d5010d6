package verbs

import (
	"cmp"
	"context"
	"fmt"
	"strings"

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
	if t.token = strings.TrimSpace(t.token); t.token == "" { // it may come out of a file
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
			if err := cmp.Or(t.check(), cli.CheckNames(args...)); err != nil {
				return err
			}
			return g.With(cmd, t.token, func(ctx context.Context, c *client.Client) error {
				left, err := c.Unlock(ctx, args[0], o)
				if err != nil {
					return err
				}
				return cli.WriteResult(cmd.OutOrStdout(), format, releasedOut{Name: args[0], Released: left == 0, Count: left}, fmt.Sprint(left))
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
