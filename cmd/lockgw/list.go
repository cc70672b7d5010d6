package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/socket"
)

// mostLocks is how many the gateway lists at once.
const mostLocks = 1000

func newListCommand() *cobra.Command {
	var (
		g      gatewayFlags
		out    outputFlag
		prefix string
	)
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List the locks that are held or waited for",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return g.with(cmd, "", func(ctx context.Context, c *socket.Client) error {
				all, err := listLocks(ctx, cmd, c, prefix)
				if err != nil {
					return err
				}
				return out.writeLocks(cmd.OutOrStdout(), all, time.Now())
			})
		},
	}
	g.add(cmd.Flags())
	out.add(cmd.Flags())
	cmd.Flags().StringVar(&prefix, "prefix", "", "list only names that begin with this")
	return cmd
}

// listLocks lists by name, and says so where there are more than can be had. That some
// cannot be had at present is no failure: what there is may be all that was looked for.
func listLocks(ctx context.Context, cmd *cobra.Command, c *socket.Client, prefix string) ([]session.Status, error) {
	all, incomplete, err := c.Locks(ctx, prefix, mostLocks)
	if err != nil {
		return nil, err
	}
	if incomplete != "" {
		fmt.Fprintln(cmd.ErrOrStderr(), "lockgw: this list is incomplete:", printable(incomplete))
	}
	if len(all) == mostLocks {
		fmt.Fprintf(cmd.ErrOrStderr(), "lockgw: only %d locks are shown, there may be more; use ls --prefix\n", mostLocks)
	}
	slices.SortFunc(all, func(a, b session.Status) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}
