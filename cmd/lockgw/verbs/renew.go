package verbs

import (
	"cmp"
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/socket/client"
)

// NewRenew is the command `renew`.
func NewRenew() *cobra.Command {
	var (
		g      cli.Gateway
		t      tokenFlag
		ttl    time.Duration
		thread int64
		format string
	)
	cmd := &cobra.Command{
		Use:   "renew NAME",
		Short: "Prolong a lock by its token",
		Long: `Prolong the lease of a lock, by the token that lock has printed, and print for
how long it may be relied on. It also counts as a sign of life of the session;
the lease itself is renewed by the gateway.`,
		Args:              cli.UsageArgs(cobra.ExactArgs(1)),
		ValidArgsFunction: g.CompleteFirst,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cmp.Or(t.check(), cli.CheckNames(args...)); err != nil {
				return err
			}
			return g.With(cmd, t.token, func(ctx context.Context, c *client.Client) error {
				left, err := c.Renew(ctx, args[0], thread, ttl)
				if err != nil {
					return err
				}
				return cli.WriteResult(cmd.OutOrStdout(), format, renewedOut{Name: args[0], TTLMS: left.Milliseconds()}, cli.Duration(left))
			})
		},
	}
	f := cmd.Flags()
	g.AddFlag(f)
	t.add(f)
	threadVar(f, &thread)
	cli.PositiveVar(f, &ttl, "ttl", "lease from now on (default: the one it has)")
	cli.JSONVar(f, &format)
	return cmd
}
