// Package top is `lockgw top`: the locks of a gateway on a terminal, as they change.
package top

import (
	"context"
	"fmt"
	"os"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/spf13/cobra"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/socket/client"
)

// options are the flags of top.
type options struct {
	cli.Gateway
	out    cli.Output
	every  time.Duration
	prefix string
	file   string // of the admin token
}

// New is the command `top`.
func New() *cobra.Command {
	o := options{every: time.Second}
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Follow the locks on a terminal",
		Long: `Follow the locks that are held or waited for, on a terminal. Keys:

  n h l w f   sort by name, time held, rest of the lease, waiters, fence
  /           show only names that begin with what is typed; Enter or Esc ends typing
  up down     select a lock (also k and j)
  b           take the selected lock from its holder, as "lockgw break" does
  q           quit

Without a terminal, on a dumb one, or with -o or --json, it writes the locks once and ends.`,
		Args: cli.UsageArgs(cli.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			token, err := cli.ReadAdminToken(o.file)
			if err != nil {
				return cli.Usagef("--admin-token-file: %w", err)
			}
			once := o.out.Format == "json" || cmd.Flags().Changed("output") || !cli.IsTerminal(os.Stdin) || !cli.IsScreen(cmd.OutOrStdout())
			return o.With(cmd, "", func(ctx context.Context, c *client.Client) error {
				if once {
					return o.out.ShowLocks(ctx, cmd, c, client.LockQuery{Prefix: o.prefix}, true)
				}
				return o.follow(ctx, &connection{o: &o, client: c, token: token})
			})
		},
	}
	f := cmd.Flags()
	o.AddFlag(f)
	o.out.AddFlag(f)
	cli.PositiveVar(f, &o.every, "every", "how often to look")
	f.StringVar(&o.prefix, "prefix", "", "show only names that begin with this")
	f.StringVar(&o.file, "admin-token-file", "", "file with the admin token, for b; not needed by root and the gateway's user")
	return cmd
}

// follow draws until the reader has seen enough.
func (o *options) follow(ctx context.Context, c *connection) error {
	defer c.close()
	p := tea.NewProgram(newScreen(ctx, c, o.every, o.prefix), tea.WithContext(ctx), tea.WithFilter(interruptQuits))
	if _, err := p.Run(); err != nil {
		return cli.Exit(cli.ExitFailed, fmt.Errorf("terminal: %w", err))
	}
	return nil
}

// interruptQuits has SIGINT end the program as Ctrl-C and SIGTERM do. Of itself tea ends with
// an error then, and closes the terminal while it is still read.
func interruptQuits(_ tea.Model, m tea.Msg) tea.Msg {
	if _, ok := m.(tea.InterruptMsg); ok {
		return tea.QuitMsg{}
	}
	return m
}
