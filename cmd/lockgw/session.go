package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/socket"
)

func newSessionCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "session",
		Short: "Open, show or end a session, which may hold many locks; list all",
		Long: `A session holds locks until it ends. Its token speaks for it, here and over HTTP.
It ends when nothing was heard of it for its keepalive; every command with the token is a
sign of life.`,
		Example: `  export LOCKGW_TOKEN=$(lockgw session new --keepalive 10m)
  curl -fsS -X PUT --oauth2-bearer "$LOCKGW_TOKEN" localhost:7420/v1/locks/nightly
  lockgw session info
  lockgw session end`,
		Args: usageArgs(noSuchCommand),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newSessionNewCommand(), newSessionInfoCommand(), newSessionEndCommand(), newSessionListCommand(), newSessionKillCommand())
	return cmd
}

func newSessionNewCommand() *cobra.Command {
	var (
		g         gatewayFlags
		keepalive time.Duration
	)
	cmd := &cobra.Command{
		Use:   "new",
		Short: "Open a session and print its token",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return g.with(cmd, "", func(ctx context.Context, c *socket.Client) error {
				token, err := c.NewSession(ctx, keepalive)
				if err != nil {
					return err
				}
				if _, err := fmt.Fprintln(cmd.OutOrStdout(), token.Secret()); err != nil {
					_ = c.EndSession(ctx) // nobody could ever use it
					return exit(exitFailed, fmt.Errorf("write the token: %w", err))
				}
				return nil
			})
		},
	}
	g.add(cmd.Flags())
	positiveVar(cmd.Flags(), &keepalive, "keepalive", "end the session after so long without a command about it (default: the gateway's)")
	return cmd
}

func newSessionInfoCommand() *cobra.Command {
	var (
		g gatewayFlags
		t tokenFlag
	)
	format := "table"
	cmd := &cobra.Command{
		Use:   "info",
		Short: "Show a session and what it holds",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := t.check(); err != nil {
				return err
			}
			return g.with(cmd, t.token, func(ctx context.Context, c *socket.Client) error {
				info, err := c.Session(ctx)
				if err != nil {
					return err
				}
				if format == "json" {
					return writeJSON(cmd.OutOrStdout(), newSessionOut(info))
				}
				return writeSession(cmd.OutOrStdout(), info)
			})
		},
	}
	g.add(cmd.Flags())
	t.add(cmd.Flags())
	choiceVar(cmd.Flags(), &format, "output", "o", "form of the output", "table", "json")
	return cmd
}

func newSessionEndCommand() *cobra.Command {
	var (
		g gatewayFlags
		t tokenFlag
	)
	cmd := &cobra.Command{
		Use:   "end",
		Short: "End a session and release all it holds",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := t.check(); err != nil {
				return err
			}
			return g.with(cmd, t.token, func(ctx context.Context, c *socket.Client) error { return c.EndSession(ctx) })
		},
	}
	g.add(cmd.Flags())
	t.add(cmd.Flags())
	return cmd
}

// sessionOut is a session as JSON, with the names of the HTTP API.
type sessionOut struct {
	ID          string    `json:"id"`
	UUID        string    `json:"uuid"`
	KeepaliveMS int64     `json:"keepalive_ms"`
	Since       time.Time `json:"since"`
	Locks       []holdOut `json:"locks"`
}

type holdOut struct {
	Name   string        `json:"name"`
	State  session.State `json:"state"`
	Thread int64         `json:"thread"`
	Count  int           `json:"count"`
	Fence  uint64        `json:"fence"`
	TTLMS  int64         `json:"ttl_ms"`
}

func newSessionOut(info socket.SessionInfo) sessionOut {
	out := sessionOut{
		ID: info.ID, UUID: info.UUID, KeepaliveMS: info.Keepalive.Milliseconds(), Since: info.Since, Locks: []holdOut{},
	}
	for _, v := range info.Holds {
		out.Locks = append(out.Locks, holdOut{v.Name, v.State, v.Thread, v.Count, uint64(v.Fence), v.Left.Milliseconds()})
	}
	return out
}

func writeSession(w io.Writer, info socket.SessionInfo) error {
	keepalive := "none: it lives by its connections or its process"
	if info.Keepalive > 0 {
		keepalive = duration(info.Keepalive)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "Session:\n  Id:\t%s\n  UUID:\t%s\n  Since:\t%s\n  Keepalive:\t%s\n",
		info.ID, info.UUID, info.Since.Local().Format(time.DateTime), keepalive)
	if len(info.Holds) == 0 {
		fmt.Fprintln(t, "  Holds:\tnothing")
		return t.Flush()
	}
	fmt.Fprintln(t, "\nNAME\tSTATE\tLEASE\tCOUNT\tFENCE")
	for _, v := range info.Holds {
		fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%d\n", printable(v.Name), v.State, duration(v.Left.Round(100*time.Millisecond)), v.Count, v.Fence)
	}
	return t.Flush()
}
