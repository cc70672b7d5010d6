package verbs

import (
	"cmp"
	"context"
	"fmt"
	"os/user"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/socket/client"
)

// completeSession offers the ids of the sessions that the gateway has, to those who may
// list them.
func completeSession(g *cli.Gateway, file *string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return g.Complete(cmd, func(ctx context.Context, c *client.Client) (ids []cobra.Completion) {
			token, err := cli.ReadAdminToken(*file)
			if err != nil {
				return nil
			}
			page, _, _ := c.Sessions(ctx, client.SessionQuery{Token: token})
			for _, s := range page {
				ids = append(ids, cobra.CompletionWithDesc(s.ID, strings.TrimSpace(clientText(s.Process)+" "+cli.Printable(s.Name))))
			}
			return ids
		})
	}
}

// mostSessions is how many the gateway lists at once.
const mostSessions = 1000

const forAdministrators = "For root and the user of the gateway, or with the admin token."

func newSessionList() *cobra.Command {
	var (
		g            cli.Gateway
		out          cli.Output
		prefix, file string
	)
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List who has a session here",
		Long: `List the sessions of this gateway: who each is, what it lives by, what it holds and waits for.
A session lives by a connection, by a process, by a keepalive (a request now and then), or by
nothing but the bound of its hold (max_hold).

` + forAdministrators,
		Args: cli.UsageArgs(cli.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			token, err := cli.ReadAdminToken(file)
			if err != nil {
				return cli.Usagef("--admin-token-file: %w", err)
			}
			return g.With(cmd, "", func(ctx context.Context, c *client.Client) error {
				all, err := listSessions(ctx, c, prefix, token)
				if err != nil {
					return err
				}
				return writeSessions(cmd.OutOrStdout(), out, all)
			})
		},
	}
	g.AddFlag(cmd.Flags())
	out.AddFlag(cmd.Flags())
	cmd.Flags().StringVar(&prefix, "prefix", "", "list only sessions whose name begins with this")
	addAdminToken(cmd, &file)
	return cmd
}

func listSessions(ctx context.Context, c *client.Client, prefix, token string) (all []client.Summary, err error) {
	q := client.SessionQuery{Prefix: prefix, Count: mostSessions, Token: token}
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

func newSessionKill() *cobra.Command {
	var (
		g          cli.Gateway
		file, whom string
		format     string
	)
	cmd := &cobra.Command{
		Use:   "kill ID | --user USER",
		Short: "End the session of somebody else, or all of a user",
		Long: `End a session, by its id as "lockgw session ls" shows it, whatever it lives by. Its waits end, and
what it holds is lost. It is told, which does not stop a program that does not listen: be sure
that it is dead, or that what it works on checks fences.

With --user it is all sessions of a user of this machine, by name or number, of an access token
(token:NAME) or a certificate (cert:NAME), or of all who are known by none of these (unknown).

` + forAdministrators + ` The gateway's log keeps a record.`,
		Args: cli.UsageArgs(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			token, err := cli.ReadAdminToken(file)
			switch {
			case err != nil:
				return cli.Usagef("--admin-token-file: %w", err)
			case (len(args) == 1) == (whom != ""):
				return cli.Usagef("give the id of a session, or --user")
			case whom != "":
				return killUser(cmd, &g, whom, token, format)
			}
			return g.With(cmd, "", func(ctx context.Context, c *client.Client) error {
				names, err := c.KillSession(ctx, args[0], token)
				if err != nil {
					return err
				}
				return cli.WriteResult(cmd.OutOrStdout(), format, killedOut{Sessions: 1, Locks: append([]string{}, names...)},
					fmt.Sprintf("session %s has ended; it held %s", cli.Printable(args[0]), cmp.Or(strings.Join(names, ", "), "nothing")))
			})
		},
	}
	g.AddFlag(cmd.Flags())
	addAdminToken(cmd, &file)
	cli.JSONVar(cmd.Flags(), &format)
	cmd.Flags().StringVar(&whom, "user", "", "end all sessions of this user")
	cmd.ValidArgsFunction = completeSession(&g, &file)
	return cmd
}

func killUser(cmd *cobra.Command, g *cli.Gateway, whom, token, format string) error {
	who, err := countedAs(whom)
	if err != nil {
		return cli.Usagef("--user: %w", err)
	}
	return g.With(cmd, "", func(ctx context.Context, c *client.Client) error {
		n, err := c.KillUser(ctx, who, token)
		if err != nil {
			return err
		}
		return cli.WriteResult(cmd.OutOrStdout(), format, killedOut{Sessions: n}, fmt.Sprintf("%d sessions of %s have ended", n, cli.Printable(whom)))
	})
}

// countedAs is a user by the name under which the gateway counts sessions.
func countedAs(whom string) (string, error) {
	if whom == "unknown" || strings.HasPrefix(whom, "token:") || strings.HasPrefix(whom, "cert:") {
		return whom, nil
	}
	name := strings.TrimPrefix(whom, "user:")
	if _, err := strconv.ParseUint(name, 10, 32); err == nil {
		return "user:" + name, nil
	}
	u, err := user.Lookup(name)
	if err != nil {
		return "", fmt.Errorf("this machine has no user %q", name)
	}
	return "user:" + u.Uid, nil
}
