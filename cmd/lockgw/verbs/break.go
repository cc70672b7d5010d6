package verbs

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/socket/client"
)

// NewBreak is the command `break`.
func NewBreak() *cobra.Command {
	var (
		g      cli.Gateway
		fence  uint64
		owner  string
		file   string
		format string
	)
	cmd := &cobra.Command{
		Use:   "break NAME --fence N [--owner OWNER]",
		Short: "Take a lock from whoever holds it",
		Long: `Take a lock from whoever holds it, if that is still the hold with the fence N, as
"lockgw status NAME" shows it, and with --owner the hold of that owner. The holder is told that the lock is lost, which does not stop a
program that does not listen: be sure that it is dead, or that what it works on checks fences.

` + forAdministrators + ` The gateway's log keeps a record.`,
		Args:              cli.UsageArgs(cobra.ExactArgs(1)),
		ValidArgsFunction: g.CompleteFirst,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.CheckNames(args...); err != nil {
				return err
			}
			of := os.Getenv("LOCKGW_LOCK") // of what run has told its command, fence and owner are of that lock
			given := func(flag string) bool {
				return cmd.Flags().Changed(flag) && !(cli.FromEnv(cmd.Flags(), flag) && of != "" && of != args[0])
			}
			if !given("owner") {
				owner = ""
			}
			if !given("fence") {
				return cli.Usagef("say --fence N; `lockgw status %s` shows it", args[0])
			}
			if owner == "" && given("owner") {
				return cli.Usagef("--owner must not be empty; `lockgw status %s` shows it", args[0])
			}
			token, err := cli.ReadAdminToken(file)
			if err != nil {
				return cli.Usagef("--admin-token-file: %w", err)
			}
			return g.With(cmd, "", func(ctx context.Context, c *client.Client) error {
				if err := c.Break(ctx, args[0], fence, owner, token); err != nil {
					return err
				}
				return cli.WriteResult(cmd.OutOrStdout(), format, releasedOut{Name: args[0], Released: true},
					fmt.Sprintf("%s is taken from the holder with fence %d", args[0], fence))
			})
		},
	}
	f := cmd.Flags()
	g.AddFlag(f)
	cli.NumberVar(f, &fence, "fence", 0, "fence of the hold that is to end")
	f.StringVar(&owner, "owner", "", "owner whose hold is to end; if another holds the lock by now, nothing is done")
	cli.JSONVar(f, &format)
	addAdminToken(cmd, &file)
	return cmd
}
