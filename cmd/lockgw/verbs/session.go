package verbs

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/socket/client"
)

// NewSession is the command `session`.
func NewSession() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "session",
		Short: "Open, show or end a session, which may hold many locks; list all",
		Long: `A session holds locks until it ends. Its token speaks for it, here and over HTTP.
It ends after its keepalive without a request; every command with the token is a
sign of life.`,
		Example: `  LOCKGW_TOKEN=$(lockgw session new --keepalive 10m) || exit
  export LOCKGW_TOKEN
  curl -fsS -X PUT --oauth2-bearer "$LOCKGW_TOKEN" localhost:7420/v1/locks/nightly
  lockgw session info
  lockgw session end`,
		Args: cli.UsageArgs(cli.NoSuchCommand),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newSessionNew(), newSessionInfo(), newSessionEnd(), newSessionList(), newSessionKill())
	return cmd
}

func newSessionNew() *cobra.Command {
	var (
		g         cli.Gateway
		keepalive time.Duration
		format    string
	)
	cmd := &cobra.Command{
		Use:   "new",
		Short: "Open a session and print its token",
		Args:  cli.UsageArgs(cli.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := needStdout("session new", ""); err != nil {
				return err
			}
			cli.CatchBrokenPipe()
			return g.With(cmd, "", func(ctx context.Context, c *client.Client) error {
				token, err := c.NewSession(ctx, keepalive)
				if err != nil {
					return err
				}
				if err := cli.WriteResult(cmd.OutOrStdout(), format, tokenOut{token.Secret()}, token.Secret()); err != nil {
					_ = c.EndSession(ctx) // nobody could ever use it
					return cli.Exit(cli.ExitFailed, fmt.Errorf("write the token: %w", err))
				}
				return nil
			})
		},
	}
	g.AddFlag(cmd.Flags())
	cli.JSONVar(cmd.Flags(), &format)
	cli.PositiveVar(cmd.Flags(), &keepalive, "keepalive", "end the session after so long without a command about it (default: the gateway's)")
	return cmd
}

func newSessionInfo() *cobra.Command {
	var (
		g cli.Gateway
		t tokenFlag
	)
	format := "table"
	cmd := &cobra.Command{
		Use:   "info",
		Short: "Show a session and what it holds",
		Args:  cli.UsageArgs(cli.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := t.check(); err != nil {
				return err
			}
			return g.With(cmd, t.token, func(ctx context.Context, c *client.Client) error {
				info, err := c.Session(ctx)
				if err != nil {
					return err
				}
				if format == "json" {
					return cli.WriteJSON(cmd.OutOrStdout(), newSessionOut(info))
				}
				return writeSession(cmd.OutOrStdout(), info)
			})
		},
	}
	g.AddFlag(cmd.Flags())
	t.add(cmd.Flags())
	cli.FormatVar(cmd.Flags(), &format, "table", "json")
	return cmd
}

func newSessionEnd() *cobra.Command {
	var (
		g      cli.Gateway
		t      tokenFlag
		format string
	)
	cmd := &cobra.Command{
		Use:   "end",
		Short: "End a session and release all it holds",
		Args:  cli.UsageArgs(cli.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := t.check(); err != nil {
				return err
			}
			return g.With(cmd, t.token, func(ctx context.Context, c *client.Client) error {
				if format != "json" {
					return c.EndSession(ctx)
				}
				info, err := c.Session(ctx) // for what it holds: the end does not tell
				if err != nil {
					return err
				}
				if err := c.EndSession(ctx); err != nil {
					return err
				}
				names := []string{}
				for _, h := range info.Holds {
					names = append(names, h.Name)
				}
				return cli.WriteJSON(cmd.OutOrStdout(), map[string][]string{"released": names}) // as over HTTP
			})
		},
	}
	g.AddFlag(cmd.Flags())
	t.add(cmd.Flags())
	cli.JSONVar(cmd.Flags(), &format)
	cmd.Flags().Lookup("json").Usage = "print what it held, as JSON"
	return cmd
}
