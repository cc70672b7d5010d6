package verbs

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/socket/client"
)

// NewList is the command `ls`.
func NewList() *cobra.Command {
	var (
		g      cli.Gateway
		out    cli.Output
		prefix string
	)
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List the locks that are held or waited for",
		Args:  cli.UsageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return g.With(cmd, "", func(ctx context.Context, c *client.Client) error {
				all, err := cli.ListLocks(ctx, cmd, c, prefix)
				if err != nil {
					return err
				}
				return out.WriteLocks(cmd.OutOrStdout(), all, time.Now())
			})
		},
	}
	g.AddFlag(cmd.Flags())
	out.AddFlag(cmd.Flags())
	cmd.Flags().StringVar(&prefix, "prefix", "", "list only names that begin with this")
	return cmd
}
