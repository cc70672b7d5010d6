package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/spf13/cobra"

	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/socket"
)

// topOptions are the flags of top.
type topOptions struct {
	gatewayFlags
	out    outputFlag
	json   bool
	every  time.Duration
	prefix string
	file   string // of the admin token
}

func newTopCommand() *cobra.Command {
	o := topOptions{every: time.Second}
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Follow the locks on a terminal",
		Long: `Follow the locks that are held or waited for, on a terminal. Keys:

  n h l w f   sort by name, time held, rest of the lease, waiters, fence
  /           show only names that begin with what is typed; Enter or Esc ends typing
  up down     select a lock (also k and j)
  b           take the selected lock from its holder, as "lockgw break" does
  q           quit

Without a terminal, or with -o or --json, it writes the locks once and ends.`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			token, err := readAdminToken(o.file)
			if err != nil {
				return usagef("--admin-token-file: %w", err)
			}
			once := o.json || cmd.Flags().Changed("output") || !isTerminal(os.Stdin) || !isTerminal(cmd.OutOrStdout())
			return o.with(cmd, "", func(ctx context.Context, c *socket.Client) error {
				if once {
					return o.once(ctx, cmd, c)
				}
				return o.follow(ctx, &topClient{o: &o, client: c, token: token})
			})
		},
	}
	f := cmd.Flags()
	o.add(f)
	o.out.add(f)
	f.BoolVar(&o.json, "json", false, "write one JSON object a line, once")
	positiveVar(f, &o.every, "every", "how often to look (default: 1s)")
	f.StringVar(&o.prefix, "prefix", "", "show only names that begin with this")
	f.StringVar(&o.file, "admin-token-file", "", "file with the admin token, for b; not needed by root and the gateway's user")
	return cmd
}

// once writes the locks as ls does.
func (o *topOptions) once(ctx context.Context, cmd *cobra.Command, c *socket.Client) error {
	all, err := listLocks(ctx, cmd, c, o.prefix)
	if err != nil {
		return err
	}
	if o.json {
		return writeLines(cmd.OutOrStdout(), all, time.Now())
	}
	return o.out.writeLocks(cmd.OutOrStdout(), all, time.Now())
}

func writeLines(w io.Writer, all []session.Status, now time.Time) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	for _, st := range all {
		if err := e.Encode(newLockOut(st, now)); err != nil {
			return err
		}
	}
	return nil
}

// follow draws until the reader has seen enough.
func (o *topOptions) follow(ctx context.Context, c *topClient) error {
	defer c.close()
	p := tea.NewProgram(newTopScreen(ctx, c, o.every, o.prefix), tea.WithContext(ctx))
	if _, err := p.Run(); err != nil {
		return exit(exitFailed, fmt.Errorf("terminal: %w", err))
	}
	return nil
}
