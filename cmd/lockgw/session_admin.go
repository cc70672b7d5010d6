package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/socket"
)

// mostSessions is how many the gateway lists at once.
const mostSessions = 1000

const forAdministrators = "For root and the user of the gateway, or with the admin token."

func newSessionListCommand() *cobra.Command {
	var (
		g            gatewayFlags
		out          outputFlag
		prefix, file string
	)
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List who has a session here",
		Long: `List the sessions of this gateway: who each is, what it lives by, what it holds and waits for.
A session lives by a connection, by a process, by a keepalive (a request now and then), or by
nothing but the bound of its hold (max_hold).

` + forAdministrators,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			token, err := readAdminToken(file)
			if err != nil {
				return usagef("--admin-token-file: %w", err)
			}
			return g.with(cmd, "", func(ctx context.Context, c *socket.Client) error {
				all, err := listSessions(ctx, c, prefix, token)
				if err != nil {
					return err
				}
				return out.writeSessions(cmd.OutOrStdout(), all)
			})
		},
	}
	g.add(cmd.Flags())
	out.add(cmd.Flags())
	cmd.Flags().StringVar(&prefix, "prefix", "", "list only sessions whose name begins with this")
	addAdminToken(cmd, &file)
	return cmd
}

func listSessions(ctx context.Context, c *socket.Client, prefix, token string) (all []session.Summary, err error) {
	q := socket.SessionQuery{Prefix: prefix, Count: mostSessions, Token: token}
	for {
		page, next, err := c.Sessions(ctx, q)
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		if next == "" {
			return all, nil
		}
		q.Cursor = next
	}
}

func addAdminToken(cmd *cobra.Command, file *string) {
	cmd.Flags().StringVar(file, "admin-token-file", "", "file with the admin token; not needed by root and the gateway's user")
}

func newSessionKillCommand() *cobra.Command {
	var (
		g    gatewayFlags
		file string
	)
	cmd := &cobra.Command{
		Use:   "kill ID",
		Short: "End the session of somebody else",
		Long: `End a session, by its id as "lockgw session ls" shows it, whatever it lives by. Its waits end, and
what it holds is lost. It is told, which does not stop a program that does not listen: be sure
that it is dead, or that what it works on checks fences.

` + forAdministrators + ` The gateway's log keeps a record.`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			token, err := readAdminToken(file)
			if err != nil {
				return usagef("--admin-token-file: %w", err)
			}
			return g.with(cmd, "", func(ctx context.Context, c *socket.Client) error {
				names, err := c.KillSession(ctx, args[0], token)
				if err != nil {
					return err
				}
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "session %s has ended; it held %s\n",
					printable(args[0]), cmp.Or(strings.Join(names, ", "), "nothing"))
				return err
			})
		},
	}
	g.add(cmd.Flags())
	addAdminToken(cmd, &file)
	cmd.ValidArgsFunction = g.completeSession(&file)
	return cmd
}
